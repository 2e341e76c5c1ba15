# SPDX-License-Identifier: BSD-3-Clause
"""What no paper has: a step with and without helpers. A helper takes a core from the computation of its node."""
from counterparts import drawing

MACHINE, NODES, CORES = "dane", 32, 112
# In one stage between nodes, in 31 that wait for each other, in 118.
POINTS = (("node-aware", 1024), ("node-aware:between=pairwise", 1024), ("radix:r=60", 64))
SHARES = (0.5, 1, 2, 8)  # computation over the exchange alone
TESTS = 10  # calls of Test in a computation

CASES = {  # helpers per node
    "ranks, no tests": 0,
    f"ranks, {TESTS} tests": 0,
    "1 helper a node": 1,
    "2 helpers (1 a socket)": 2,
    "8 helpers (1 a domain)": 8,
}


def step(sim, algorithm, size, computation, case, helpers):
    """Seconds of a step whose computation takes so long on all cores."""
    options = {"computation": round(computation * 1e6 * CORES / (CORES - helpers))}
    if helpers:
        options.update(progress="helper", helpers=helpers)
    elif "no tests" not in case:
        options["test_every"] = max(1, options["computation"] // (TESTS + 1))
    return sim.seconds("alltoall", algorithm, MACHINE, sim.nodes(NODES), size, **options)


def as_table(title, curves, shares):
    rows = [f"| {title} | " + " | ".join(f"computation {share:g}x" for share in shares) + " |",
            "|---" * (len(shares) + 1) + "|"]
    for case, points in curves.items():
        cells = []
        for share, value in points.items():
            best = min(curve[share] for curve in curves.values())
            cells.append(f"**{value:.2f}**" if round(value, 2) == round(best, 2) else f"{value:.2f}")
        rows.append("| " + " | ".join([case, *cells]) + " |")
    return "\n".join(rows)


def figure(sim, folder):
    shares = sim.some(SHARES)
    panels, tables = {}, []
    for algorithm, size in sim.some(POINTS):
        alone = sim.seconds("alltoall", algorithm, MACHINE, sim.nodes(NODES), size)
        curves = {case: {share: step(sim, algorithm, size, share * alone, case, helpers) / (share * alone + alone)
                         for share in shares} for case, helpers in CASES.items()}
        panels[f"{algorithm}, {drawing.size_text(size)}"] = curves
        tables.append(as_table(f"`{algorithm}`, {drawing.size_text(size)}; exchange alone {drawing.time_text(alone)}",
                               curves, shares))
    drawing.lines(f"{folder}/helpers.png", panels, "computation / exchange alone",
                  ylabel="step / (computation + exchange)", unit=1)
    return "\n\n".join(tables)
