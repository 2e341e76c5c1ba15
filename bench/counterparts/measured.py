# SPDX-License-Identifier: BSD-3-Clause
"""Figures that take real runs, from what bench/run-figures left: Zhou, Idrees and Gracia, Leveraging MPI-3
Shared-Memory Extensions for Efficient PGAS Runtime Systems, 2015, figures 2 to 6; the init of the multi-radix paper,
figure 14; and what a request costs to compile and to keep at the papers' scale."""
import functools
import glob
import json
import os

from counterparts import drawing
from counterparts.drawing import size_text, time_text
from counterparts.simulation import read_machine

WAYS = {"mpi-allocated": "MPI, allocated window", "mpi-created": "MPI, created window", "openshmem": "OpenSHMEM",
        "engine": "stoker", "load-store": "load and store"}
COLUMNS = [way for way in WAYS if way != "load-store"]
BASELINES = {"mpi-allocated": "MPI, allocated", "openshmem": "OpenSHMEM"}
NOTHING = "Not measured."


class Runs:
    """JSON lines of a folder. A launch that was given up has left none, or some."""

    def __init__(self, folder):
        self.folder = folder

    def rows(self, name):
        """Those of all launches of that name."""
        rows = []
        for path in sorted(glob.glob(os.path.join(self.folder, f"{name}.*.json"))):
            with open(path, encoding="utf-8") as lines:
                rows += [json.loads(line) for line in lines]
        return rows

    def given_up(self):
        """Launches without any result."""
        return [os.path.basename(path).removesuffix(".json")
                for path in sorted(glob.glob(os.path.join(self.folder, "*.json"))) if os.path.getsize(path) == 0]


def library(row):
    return {"mpich": "MPICH", "openmpi": "Open MPI"}[row["mpi"]]


def where(row):
    return f"{library(row)}, {row['nodes']} x {row['ppn']}"


def grouped(rows, key):
    """{key: {executor: row}}"""
    groups = {}
    for row in rows:
        groups.setdefault(key(row), {})[row["executor"]] = row
    return groups


def spread(row, unit=1e-6):
    """Median, and the median absolute deviation in percent."""
    return f"{time_text(row['median_us'] * unit)} ± {row['mad_us'] / row['median_us']:.0%}"


def ratios(ways, what):
    """Stoker's time, or another quantity, to that of each baseline in the same launch."""
    return [f"{ways['engine'][what] / ways[way][what]:.2g}" if {"engine", way} <= set(ways) else "-" for way in BASELINES]


def table(head, groups, cells_of, text_of=spread, what="median_us", name_of="{}"):
    """A line for each group: the key's parts, the cells, each way's time or other quantity, and the ratios."""
    head = [*head, *[name_of.format(WAYS[way]) for way in COLUMNS], *[f"stoker / {name}" for name in BASELINES.values()]]
    if not groups:
        return NOTHING
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for key, ways in groups.items():
        values = [text_of(ways[way]) if way in ways else "-" for way in COLUMNS]
        lines.append("| " + " | ".join([*map(str, cells_of(key, ways)), *values, *ratios(ways, what)]) + " |")
    return "\n".join(lines)


def curves(rows, panel_of, x_of, value_of=lambda row: row["median_us"] * 1e-6):
    """{panel: {way: {x: value}}}, as drawing.lines() takes them."""
    panels = {}
    for row in rows:
        panels.setdefault(panel_of(row), {}).setdefault(WAYS[row["executor"]], {})[x_of(row)] = value_of(row)
    return panels


def with_picture(pictures, number, panels, text, xlabel, **options):
    """The text below its picture. Some tables have rows that no picture has."""
    if not panels:
        return text
    drawing.lines(f"{pictures}/measured-{number}.png", panels, xlabel, **options)
    return f"![](figures/measured-{number}.png)\n\n{text}"


def figure_2(runs, _sim, pictures):
    rows = runs.rows("putget")
    shown = [row for row in rows if row["bytes"] in (8, 1024, 65536, 1 << 20)]
    text = table(["", "", ""], grouped(shown, lambda row: (where(row), row["operation"], size_text(row["bytes"]))),
                 lambda key, _: key)
    panels = curves(rows, lambda row: f"{library(row)}: {row['operation']}", lambda row: row["bytes"])
    return with_picture(pictures, "2", panels, text, "bytes", sizes=True, ylabel="time (µs)", unit=1e-6)


def figures_3_4(runs, _sim, pictures):
    rows = runs.rows("distance")
    text = table(["", "", "target"],
                 grouped(rows, lambda row: (row["operation"], size_text(row["bytes"]), row["target"])),
                 lambda key, ways: (*key[:2], f"{key[2]}, on {node_text(key[2], ways)}"))
    panels = curves(rows, lambda row: f"{row['operation']}, {size_text(row['bytes'])}", lambda row: row["target"])
    return with_picture(pictures, "3-4", panels, text, "target of rank 0", ylabel="time (µs)", unit=1e-6)


def node_text(target, ways):
    return "the same node" if target < next(iter(ways.values()))["ppn"] else "another node"


def gups_text(row):
    words = "" if row["verified"] else ", too many wrong words"
    return f"{row['gups']:.3g} ± {row['mad_us'] / row['median_us']:.0%}{words}"


def figure_5(runs, _sim, pictures):
    rows = runs.rows("gups")
    text = table(["", "updates"], grouped(rows, lambda row: (where(row), row["updates"])), lambda key, _: key, gups_text,
                 "gups", "{}: GUPS")
    panels = curves([row for row in rows if row["mpi"] == "openmpi" and row["nodes"] == 1],
                    lambda row: f"Open MPI, one host: {row['updates']}", lambda row: row["ppn"],
                    lambda row: row["gups"])
    return with_picture(pictures, "5", panels, text, "ranks", ylabel="giga-updates per second", unit=1)


def figure_6(runs, _sim, pictures):
    rows = runs.rows("stencil-64") + runs.rows("stencil-1024")
    text = table(["grid", "", "halos", "iterations"],
                 grouped(rows, lambda row: (f"{row['side']} x {row['side']}", where(row), row["form"])),
                 lambda key, ways: (*key, iterations_text(next(iter(ways.values())))))
    panels = curves([row for row in rows if row["mpi"] == "openmpi" and row["side"] == 64],
                    lambda row: f"64 x 64, Open MPI, one host: {row['form']}", lambda row: row["ppn"])
    return with_picture(pictures, "6", panels, text, "ranks")


def iterations_text(row):
    return f"{row['solver_iterations']}, {'converged' if row['converged'] else 'not converged'}"


def init(runs, _sim, _pictures):
    """Figure 14 of the multi-radix paper."""
    rows = [row for row in runs.rows("init") if row["executor"] in ("compile", "wisdom")]
    if not rows:
        return NOTHING
    lines = ["| ranks of a node | vector | algorithm | compiled | from wisdom |", "|---|---|---|---|---|"]
    for (ranks, size, algorithm), ways in grouped(
            rows, lambda row: (row["ranks"], row["bytes"], row["algorithm"])).items():
        lines.append(f"| {ranks} | {size_text(size)} | `{algorithm.partition(':')[0]}` | {spread(ways['compile'])} "
                     f"| {spread(ways['wisdom'])} |")
    return "\n".join(lines)


JOBS = {(3584, 112): "dane", (16384, 64): "theta", (1000000, 112): "dane"}


def places(row, sim, full):
    """How long ranks take to tell each other where their blocks are, one MPI_Alltoall in each init: simulated, or what
    the ports alone need for its bytes. Seconds, and how they were found."""
    ranks, ppn = row["ranks"], row["ppn_assumed"]
    if ranks <= (16384 if full else 4096):
        return sim.seconds("alltoall", "mpich", JOBS[ranks, ppn], ranks // ppn, row["pair_bytes"]), "simulated"
    network = read_machine(JOBS[ranks, ppn])["network"]
    seconds = ppn * (ranks - ppn) * row["pair_bytes"] / (network["ports"] * network["port_GB_per_s"] * 1e9)
    return seconds, "ports alone"


def scale(runs, sim, _pictures, full):
    lines = ["| job | collective | algorithm | compiling, processor time | init, estimated "
             "| a rank keeps | its helper keeps for it | a node keeps |", "|---" * 8 + "|"]
    tables, exchanges, held = {}, {}, ""
    rows = [row for name in ("alltoall", "allreduce", "bcast") for ppn in (112, 64)
            for row in runs.rows(f"footprint-{name}-{ppn}")]
    for row in sorted(rows, key=lambda row: row["ranks"]):
        job = f"{row['ranks']}, {row['ppn_assumed']} a node"
        if row["what"] == "engine":
            tables[job] = size_text(row["node_mib"] * (1 << 20))
        if row["collective"] is None:
            continue
        (exchange, how), name = places(row, sim, full), row["what"].partition(":")[0]
        exchanges[job] = f"{time_text(exchange)}, {how}"
        held = size_text(row["ranks"] * (2 * row["pair_bytes"] + 8)), job
        lines.append(f"| {job} | {row['collective']} | `{name}` | {time_text(row['compile_ms'] * 1e-3)} "
                     f"| {time_text(row['compile_ms'] * 1e-3 + exchange)} | {size_text(row['rank_bytes'])} "
                     f"| {size_text(row['helper_bytes'])} | {size_text(row['node_mib'] * (1 << 20))} |")
    if not held:
        return NOTHING
    return "\n".join([*lines, "", f"The exchange of places: {by_job(exchanges)}. Each rank holds {held[0]} for it "
                      f"while init runs ({held[1]}). The engine's tables of who is where, once on a node: "
                      f"{by_job(tables)}."])


def by_job(texts):
    return "; ".join(f"{text} ({job})" for job, text in texts.items())


def machine(runs, _sim, _pictures):
    rows = runs.rows("*")
    versions = sorted({row["mpi_version"].replace(" Version:", "") for row in rows})
    cores = max((row["cores_online"] for row in rows), default=0)
    missing = runs.given_up()
    return (f"{' and '.join(versions)}, {cores} cores." if rows else "Nothing was measured.") + (
        f" Given up, because they took too long or failed: {', '.join(missing)}." if missing else "")


def figures(full):
    return {"machine": machine, "memory-2": figure_2, "memory-3-4": figures_3_4, "memory-5": figure_5,
            "memory-6": figure_6, "init": init, "scale": functools.partial(scale, full=full)}
