# SPDX-License-Identifier: BSD-3-Clause
"""Fan et al., Configurable Algorithms for All-to-All Collectives, 2024: Theta (64 ranks a node) and Polaris (32)."""
import math

from counterparts import drawing
from counterparts.drawing import size_text

RANKS_PER_NODE = {"theta": 64, "polaris": 32}
FLOPS = 1e9  # of a core in an FFT of its own, for figure 13


def time_of(sim, machine, ranks, size, algorithm):
    return sim.seconds("alltoall", algorithm, machine, ranks // RANKS_PER_NODE[machine], size)


def root_of(ranks):
    return math.ceil(math.sqrt(ranks))


def best_radices(ranks, machine):
    """What the paper takes: r of the radix algorithm, r1 and r2 of the one in two layers."""
    per_node = RANKS_PER_NODE[machine]
    return f"radix:r={root_of(ranks)}", f"radix2:r1={round(math.sqrt(per_node))},r2={ranks // per_node}"


def figure_4(sim, folder):
    """Messages that a rank sends, and blocks in them, counted in the programs of all ranks; the mean."""
    panels, rows = {}, ["| P | r | rounds K | blocks D |", "|---|---|---|---|"]
    for ranks in (64,) if sim.smoke else (1024, 2048):
        root = root_of(ranks)
        shown = (2, root // 2, root - 1, root, root + 1, 2 * root, ranks // 2)
        counts = {"rounds K": {}, "blocks D": {}}
        for radix in sim.some(sorted({*shown, 3, 4, 6, 8, 12, ranks // 8, ranks // 4})):
            levels = sim.answer("api/cli/stoker", "schedule", f"radix:r={radix}", "--ranks", ranks, "--ppn", 64,
                                "--bytes", 1, "--json")["sent"]
            for name, key in (("rounds K", "messages"), ("blocks D", "bytes")):
                counts[name][radix] = sum(level["all"][key] for level in levels) / ranks
            if radix in shown:
                rows.append(f"| {ranks} | {radix} | {counts['rounds K'][radix]:g} | {counts['blocks D'][radix]:g} |")
        panels[f"{ranks} ranks"] = counts
    drawing.lines(f"{folder}/radix-4.png", panels, "radix r", ylabel="of each rank", unit=1, few_ticks=True)
    return "\n".join(rows)


LARGE = 4096  # ranks above which a simulation takes from half a minute to two: few sizes and radices there


def sweep(sim, folder, name, machine, all_ranks):
    panels, rows = {}, ["| ranks | block | best r | its time | at √P | at r = 2 |", "|---|---|---|---|---|---|"]
    for ranks in sim.some(all_ranks):
        root = root_of(ranks)
        radices = [2, 16, root, 256] if ranks > LARGE else sorted({2, 4, 8, 16, root, 128, 256})
        radices = [r for r in sim.some(radices) if r <= ranks // 2]
        curves = {size_text(size): {r: time_of(sim, machine, ranks, size, f"radix:r={r}") for r in radices}
                  for size in sim.some((32, 1024) if ranks > LARGE else (32, 128, 1024))}
        panels[f"{machine.capitalize()}, {ranks} ranks"] = curves
        for size, curve in curves.items():
            best = min(curve, key=curve.get)
            rows.append(f"| {ranks} | {size} | {best} | " + " | ".join(
                drawing.time_text(seconds) for seconds in (curve[best], curve.get(root, curve[best]), curve[2])) + " |")
    drawing.lines(f"{folder}/{name}.png", panels, "radix r")
    return "\n".join(rows)


def figure_8(sim, folder, full=False):
    return sweep(sim, folder, "radix-8", "theta", (512, 2048, 8192, 16384) if full else (512, 2048))


def figure_11(sim, folder, full=False):
    return sweep(sim, folder, "radix-11", "polaris", (512, 1024, 2048) if full else (512, 1024))


def figure_9(sim, folder, full=False):
    size, ranks = 256, 2048
    within, between = (2, 4, 8, 16, 64) if full else (2, 8, 64), (2, 4, 8, 16, 32)
    times = {(r1, r2): time_of(sim, "theta", ranks, size, f"radix2:r1={r1},r2={r2}")
             for r1 in sim.some(within) for r2 in sim.some(between)}
    drawing.heat_map(f"{folder}/radix-9.png", f"Theta, {ranks} ranks, {size} B: ms", times, "r1 within nodes",
                     "r2 between nodes")
    best = min(times, key=times.get)
    return f"Fastest: r1 = {best[0]}, r2 = {best[1]}, {drawing.time_text(times[best])}."


def against_libraries(sim, machine, ranks, sizes):
    curves = {}
    for name, algorithm in zip(("radix, r = √P", "radix2, r1 = √Q, r2 = N"), best_radices(ranks, machine)):
        curves[name] = {size: time_of(sim, machine, ranks, size, algorithm) for size in sim.some(sizes)}
    for library in ("mpich", "openmpi"):
        curves[library] = {size: time_of(sim, machine, ranks, size, library) for size in sim.some(sizes)}
    return curves


def figure_10(sim, folder, full=False):
    """Above 128 B the libraries send directly: 67 million messages among 8192 ranks."""
    panels = {}
    for ranks in sim.some((512, 2048, 8192, 16384) if full else (512, 2048)):
        sizes = (32, 128) if ranks > LARGE else (16, 32, 128, 512, 2048)
        panels[f"Theta, {ranks} ranks"] = against_libraries(sim, "theta", ranks, sizes)
    drawing.lines(f"{folder}/radix-10.png", panels, "block for each pair", sizes=True)
    return "\n\n".join(drawing.table(title, curves, list(next(iter(curves.values()))), size_text)
                       for title, curves in panels.items())


def figure_12(sim, folder, full=False):
    all_ranks = sim.some((256, 512, 1024, 2048, 4096) if full else (256, 512, 1024, 2048))
    panels = {}
    for size in sim.some((64, 512)):
        columns = {ranks: against_libraries(sim, "polaris", ranks, (size,)) for ranks in all_ranks}
        panels[f"Polaris, {size} B"] = {name: {ranks: columns[ranks][name][size] for ranks in all_ranks}
                                        for name in columns[all_ranks[0]]}
    drawing.lines(f"{folder}/radix-12.png", panels, "ranks")
    return "\n\n".join(drawing.table(title, curves, all_ranks) for title, curves in panels.items())


def figure_13(sim, folder):
    """A distributed FFT of N = P^2 and 64 P^2 numbers of 16 bytes: three transposes, and 5 N log2 N operations."""
    panels, rows = {}, []
    for machine, all_ranks in sim.some((("theta", (512, 2048)), ("polaris", (256, 1024)))):
        for numbers in sim.some((1, 64)):  # for each pair
            bars = {}
            for ranks in sim.some(all_ranks):
                mine = ranks * numbers  # of a rank
                computing = 5 * mine * math.log2(ranks * mine) / FLOPS
                for name, points in against_libraries(sim, machine, ranks, (16 * numbers,)).items():
                    bars.setdefault(name, {})[ranks] = (3 * points[16 * numbers], computing)
                libraries = [bars[name][ranks] for name in drawing.LIBRARY_STYLES]
                cells = []
                for part in (lambda pair: pair[0], sum):
                    better = min(map(part, libraries))
                    cells += [f"{better / part(points[ranks]):.2f}" for name, points in bars.items()
                              if name not in drawing.LIBRARY_STYLES]
                rows.append(f"| {machine.capitalize()}, {ranks} | {size_text(16 * numbers)} | {' | '.join(cells)} |")
            panels[f"{machine.capitalize()}, {size_text(16 * numbers)} for each pair"] = bars
    drawing.stacked(f"{folder}/radix-13.png", panels, "ranks")
    return "\n".join(["| machine, ranks | block | the better library / TRA: transposes | TRA2: transposes "
                      "| TRA: whole FFT | TRA2: whole FFT |", "|---" * 6 + "|", *rows])
