# SPDX-License-Identifier: BSD-3-Clause
"""Jocksch et al., allreduce with multiple radices, 2025: EPYC (128 ranks a node) and Grace-Hopper (72 a socket)."""
from counterparts import drawing
from counterparts.drawing import size_text
from counterparts.simulation import machine_file, read_machine

SIZES = (8, 1024, 16384, 65536, 262144, 1048576, 4194304)
OURS = {"allreduce": ("recursive-exchange", "cyclic-shift", "tree", "building-blocks", "multileader"),
        "reduce": ("tree", "recursive-exchange", "cyclic-shift"), "bcast": ("tree", "scatter-allgather")}
BETWEEN_NODES = ("hierarchical", "node-aware", "multileader", "building-blocks", "bine")
# Figure: collective, nodes, and for each panel machine, ranks a node and domains.
ONE_SOCKET = {"ppn": 72, "domains": 1}
FIGURES = {
    "9": ("allreduce", 1, {"EPYC, 128 ranks": ("epyc-slingshot", {"ppn": 128}),
                           "EPYC, 127 ranks": ("epyc-slingshot", {"ppn": 127})}),
    "10": ("allreduce", 1, {"Grace, 72 ranks": ("grace-slingshot", ONE_SOCKET),
                            "Grace, 71 ranks": ("grace-slingshot", {"ppn": 71, "domains": 1})}),
    "11": ("allreduce", 1, {"Grace, 288 ranks": ("grace-slingshot", {"ppn": 288}),
                            "Grace, 283 ranks": ("grace-slingshot", {"ppn": 283})}),
    "13": ("allreduce", 4, {"4 EPYC nodes, 512 ranks": ("epyc-slingshot", {"ppn": 128}),
                            "4 Grace nodes, 1152 ranks": ("grace-slingshot", {"ppn": 288})}),
    "15-17-reduce": ("reduce", 1, {"EPYC, 128 ranks": ("epyc-slingshot", {"ppn": 128}),
                                   "Grace, 288 ranks": ("grace-slingshot", {"ppn": 288}),
                                   "Grace, 72 ranks": ("grace-slingshot", ONE_SOCKET)}),
    "15-17-bcast": ("bcast", 1, {"EPYC, 128 ranks": ("epyc-slingshot", {"ppn": 128}),
                                 "Grace, 288 ranks": ("grace-slingshot", {"ppn": 288}),
                                 "Grace, 72 ranks": ("grace-slingshot", ONE_SOCKET)}),
}


def curves_of(sim, figure, panel):
    collective, nodes, panels = FIGURES[figure]
    machine, options = panels[panel]
    algorithms = BETWEEN_NODES if nodes > 1 else OURS[collective]
    return {algorithm: {size: sim.seconds(collective, algorithm, machine, sim.nodes(nodes), size, **options)
                        for size in sim.some(SIZES)} for algorithm in (*algorithms, "mpich", "openmpi")}


def advantage(curves):
    """{size: the better library over the best of ours}"""
    ours = [points for name, points in curves.items() if name not in drawing.LIBRARY_STYLES]
    theirs = [curves[name] for name in drawing.LIBRARY_STYLES]
    return {size: min(points[size] for points in theirs) / min(points[size] for points in ours) for size in theirs[0]}


def figure(name):
    def draw(sim, folder):
        panels = {panel: curves_of(sim, name, panel) for panel in sim.some(list(FIGURES[name][2]))}
        drawing.lines(f"{folder}/multi-radix-{name}.png", panels, "vector", sizes=True, ylabel="time (µs)", unit=1e-6)
        sizes = sim.some(SIZES)
        return "\n".join(["| better library / best of ours | " + " | ".join(map(size_text, sizes)) + " |",
                          "|---" * (len(sizes) + 1) + "|",
                          *("| " + panel + " | " + " | ".join(f"{factor:.2f}" for factor in advantage(curves).values())
                            + " |" for panel, curves in panels.items())])
    return draw


def figure_12(sim, _folder):
    """In place. `stoker schedule` has such calls."""
    machine, ranks = "grace-slingshot", 16 if sim.smoke else 288
    job = ("--ranks", ranks, "--ppn", ranks, "--domains", read_machine(machine)["node"]["domains"])
    sizes = sim.some(SIZES)
    rows = [f"| Grace, {ranks} ranks: in place / not in place | " + " | ".join(map(size_text, sizes)) + " |",
            "|---" * (len(sizes) + 1) + "|"]
    for algorithm in sim.some(OURS["allreduce"]):
        cells = []
        for size in sizes:
            seconds = [sim.answer("api/cli/stoker", "schedule", "allreduce", algorithm, *job, "--bytes", size, *place,
                                  "--json", "--model", machine_file(machine))["predicted_seconds"]
                       for place in ((), ("--in-place",))]
            cells.append(f"{seconds[1] / seconds[0]:.2f}")
        rows.append(f"| `{algorithm}` | {' | '.join(cells)} |")
    return "\n".join(rows)
