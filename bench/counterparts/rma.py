# SPDX-License-Identifier: BSD-3-Clause
"""Namugwanya, Analyzing Persistent Alltoallv RMA Implementations, 2026: Dane, 28 ranks a node, blocks of one size."""
import glob
import json
import os

from counterparts import drawing
from counterparts.drawing import size_text

MACHINE, RANKS_PER_NODE = "dane", 28
ALGORITHMS = ("rma-fence", "rma-lock", "rma-fence-hierarchy", "openmpi")
LARGEST = 2 << 20


def seconds(sim, algorithm, ranks, size):
    return sim.seconds("alltoallv", algorithm, MACHINE, ranks // RANKS_PER_NODE, size, ppn=RANKS_PER_NODE)


def saved_by_fence(sim, ranks):
    """The share of the library's time that the fence saves at the largest size."""
    return 1 - seconds(sim, "rma-fence", ranks, LARGEST) / seconds(sim, "openmpi", ranks, LARGEST)


def figure_1(sim, folder):
    all_ranks = sim.some((56, 112, 224, 448))
    curves = {algorithm: {ranks: seconds(sim, algorithm, ranks, LARGEST) for ranks in all_ranks}
              for algorithm in ALGORITHMS}
    drawing.lines(f"{folder}/rma-1.png", {"Dane, 28 ranks a node, 2 MiB for each pair": curves}, "ranks")
    return drawing.table("ranks", curves, all_ranks)


def figure_2(sim, folder):
    sizes = sim.some((2048, 8192, 32768, 131072, 1 << 20, LARGEST))
    curves = {algorithm: {size: seconds(sim, algorithm, 224, size) for size in sizes} for algorithm in ALGORITHMS}
    drawing.lines(f"{folder}/rma-2.png", {"Dane, 224 ranks, 28 a node": curves}, "block for each pair", sizes=True)
    return drawing.table("", curves, sizes, size_text)


SPARSE = ("nonblocking", "rma-fence", "rma-lock", "rma-fence-hierarchy", "node-aware")
LIBRARY = "openmpi"
NODES = 8


def grid_matrix(folder, side=64):
    """The five-point operator on a grid of side x side points: for those who have no matrices."""
    path = os.path.join(folder, f"grid-{side}.mtx")
    edges = [(i, i + step) for i in range(side * side) for step in (1, side)
             if i + step < side * side and (step == side or (i + 1) % side)]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix coordinate pattern symmetric\n{side * side} {side * side} {len(edges)}\n")
        file.writelines(f"{high + 1} {low + 1}\n" for low, high in edges)
    return path


def exchanges(sim, folder_of_matrices):
    """{matrix: who sends how many elements to whom, and the seconds of each algorithm}, those with few entries first."""
    files = [] if sim.smoke else glob.glob(os.path.join(folder_of_matrices, "*.mtx"))
    if not files:
        print(f"sparse matrices: a generated one, none from {folder_of_matrices}")
        files = [grid_matrix(sim.folder)]
    answers = {os.path.splitext(os.path.basename(file))[0]: exchange_of(sim, file) for file in files}
    return dict(sorted(answers.items(), key=lambda item: item[1]["entries"]))


def exchange_of(sim, file):
    pattern = os.path.join(sim.folder, f"{os.path.basename(file)}.{sim.nodes(NODES)}.counts.json")
    answer = sim.simulation("alltoallv", MACHINE, *SPARSE, "--library", LIBRARY, "--nodes", sim.nodes(NODES), "--ppn",
                            RANKS_PER_NODE, "--bytes", 8, "--matrix", file, "--send-counts", pattern)
    with open(pattern, encoding="utf-8") as counts:
        return json.load(counts) | {"seconds": [row["sizes"][0]["seconds"] for row in answer["rows"]]}


def sparse(sim, folder, matrices):
    """Figures 3 and 4."""
    answers = exchanges(sim, matrices)
    drawing.patterns(f"{folder}/rma-4.png", {name: answer["send_counts"] for name, answer in answers.items()},
                     "elements of 8 bytes")
    rows = ["| matrix | rows x columns | entries | pairs that exchange | most that a rank sends, receives "
            "(mean) | `" + "` | `".join(SPARSE) + "` | Open MPI's rules |", "|---" * (6 + len(SPARSE)) + "|"]
    for name, answer in answers.items():
        sent = [sum(row) for row in answer["send_counts"]]
        received = [sum(column) for column in zip(*answer["send_counts"])]
        pairs = sum(count > 0 for row in answer["send_counts"] for count in row)
        best = min(answer["seconds"])
        times = [f"**{drawing.time_text(t)}**" if t == best else drawing.time_text(t)
                 for t in answer["seconds"]]
        bytes_each = answer["element_bytes"]
        rows.append("| " + " | ".join([
            name, f"{answer['rows']} x {answer['columns']}", str(answer["entries"]), str(pairs),
            f"{size_text(bytes_each * max(sent))}, {size_text(bytes_each * max(received))} "
            f"({size_text(round(bytes_each * sum(sent) / len(sent)))})", *times]) + " |")
    return "\n".join(rows)
