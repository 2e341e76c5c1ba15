#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of what stoker-bench wrote with --json.

    bench/tables/plot.py [--output PREFIX] [--title TEXT] [--bytes N,...] FILE...

Writes PREFIX-overlap.png (efficiency over message size), PREFIX-latency.png (Start+Wait over the blocking call),
PREFIX-alltoall.png (the algorithms over the blocking call), PREFIX-breakdown.png (their phases, of alltoall --breakdown) and
PREFIX-fft.png (the FFT and its transposes), PREFIX-alltoallv.png, PREFIX-break-even.png and PREFIX-matrices.png (the persistent
alltoallv over the blocking call, over bytes per process and for each matrix, and when its init has paid for itself) and
PREFIX-heatmap-MATRIX.png (its send and receive counts, of alltoallv --patterns), PREFIX-putget.png, PREFIX-distance.png,
PREFIX-putget-overlap.png, PREFIX-gups.png, PREFIX-stencil.png and PREFIX-passive.png (global memory against MPI's windows),
PREFIX-allreduce.png, PREFIX-reduce.png and PREFIX-bcast.png (time over size, on mapped and on ordinary buffers), each where the files hold such results; PREFIX-scaling.png (the algorithms over the
number of nodes, at each size) where they hold results of several numbers of nodes. One panel per MPI library, collective and kernel or executor, or size; where files repeat a point,
the median is drawn, with the range.
"""
import argparse
import collections
import json
import statistics

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib import ticker

# One colour and marker per implementation, the same in all pictures.
STYLES = {
    "mpi-blocking": ("MPI, blocking", "tab:gray", "s"),
    "mpi-nonblocking": ("MPI, nonblocking", "tab:orange", "^"),
    "mpi-nonblocking-test": ("MPI, nonblocking + MPI_Test", "tab:brown", "v"),
    "mpi-persistent": ("MPI, persistent", "tab:orange", "^"),
    "engine": ("stoker, engine", "tab:blue", "o"),
    "inline": ("stoker, inline", "tab:cyan", "D"),
}


def read(files):
    rows = []
    for name in files:
        with open(name, encoding="utf-8") as lines:
            rows += [json.loads(line) for line in lines if line.strip()]
    return rows


def size_text(size):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size:g} B"


def panels_of(rows, value):
    """{panel: {executor: {bytes: [value, ...]}}}"""
    panels = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for row in rows:
        panel = (row["mpi"], row["collective"], row.get("kernel"))
        panels[panel][row["executor"]][row["bytes"]].append(row[value])
    return panels


def grid(panels, most_columns, size, sharey=True):
    """Figure and axes for so many panels of (width, height) inches, the spare ones hidden."""
    columns = min(panels, most_columns)
    lines = -(-panels // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(size[0] * columns, size[1] * lines), squeeze=False,
                                sharey=sharey)
    for axis in axes.flat[panels:]:
        axis.set_visible(False)
    return figure, axes


def size_axis(axis, sizes):
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [size_text(size) for size in sizes], rotation=45, ha="right", fontsize=8)


def ratio_axis(axis):
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))


def finish(figure, example, output, title):
    figure.suptitle(title or f"{example['nodes']} nodes x {example['ppn']} ranks", fontsize=11)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.2 / figure.get_figheight()))
    figure.savefig(output, dpi=150)
    print(output)


def draw(rows, value, ylabel, reference, output, title, log):
    panels = panels_of(rows, value)
    figure, axes = grid(len(panels), 2, (5.5, 3.6))
    for axis, (panel, executors) in zip(axes.flat, sorted(panels.items(), key=str)):
        sizes = sorted({size for points in executors.values() for size in points})
        for executor, (label, colour, marker) in STYLES.items():
            points = sorted(executors.get(executor, {}).items())
            if not points:
                continue
            middle = [statistics.median(values) for _, values in points]
            below = [m - min(values) for m, (_, values) in zip(middle, points)]
            above = [max(values) - m for m, (_, values) in zip(middle, points)]
            axis.errorbar([size for size, _ in points], middle, yerr=[below, above], label=label, color=colour,
                          marker=marker, markersize=5, capsize=2, linewidth=1.5)
        axis.axhline(reference, color="black", linewidth=0.8, linestyle=":")
        size_axis(axis, sizes)
        if log:
            ratio_axis(axis)
        else:
            axis.set_ylim(bottom=0)
        axis.minorticks_off()
        axis.set_title(", ".join(str(part) for part in panel if part), fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel(ylabel)
    axes.flat[0].legend(fontsize=8)
    figure.supxlabel("bytes per pair of ranks", fontsize=9)
    finish(figure, rows[0], output, title)


def draw_algorithms(rows, output, title):
    """Time over the blocking call's, a line for each algorithm."""
    panels = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for row in rows:
        if row["algorithm"] != "mpi":
            panel = (row["mpi"], row["collective"], row["executor"])
            panels[panel][row["algorithm"]][row["bytes"]].append(row["ratio"])
    figure, axes = grid(len(panels), 2, (6.5, 4))
    names = sorted({name for algorithms in panels.values() for name in algorithms})
    markers = "os^vD<>pPX*h"
    for axis, (panel, algorithms) in zip(axes.flat, sorted(panels.items())):
        for i, name in enumerate(names):
            points = sorted(algorithms[name].items())
            axis.plot([size for size, _ in points], [statistics.median(values) for _, values in points], label=name,
                      color=f"C{i % 10}", marker=markers[i % len(markers)], markersize=5, linewidth=1.2)
        sizes = sorted({size for points in algorithms.values() for size in points})
        axis.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
        size_axis(axis, sizes)
        ratio_axis(axis)
        axis.minorticks_off()
        axis.set_title(", ".join(panel), fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("time / blocking MPI call")
    axes.flat[0].set_ylim(top=4)
    axes.flat[0].legend(fontsize=6, ncols=3, loc="upper right")
    figure.supxlabel("bytes per pair of ranks", fontsize=9)
    finish(figure, rows[0], output, title)


def draw_scaling(rows, output, title):
    """Microseconds over the number of nodes, a line for each algorithm and one for the MPI call."""
    panels = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    executors = sorted({row["executor"] for row in rows if row["algorithm"] != "mpi"})
    for row in rows:
        for executor in executors if row["algorithm"] == "mpi" else [row["executor"]]:
            panel = (row["mpi"], row["collective"], row["bytes"], executor)
            panels[panel][row["algorithm"]][row["nodes"]].append(row["median_us"])
    figure, axes = grid(len(panels), 2, (6, 4), sharey=False)
    names = sorted({name for algorithms in panels.values() for name in algorithms})
    markers = "os^vD<>pPX*h"
    for axis, ((mpi, collective, size, executor), algorithms) in zip(axes.flat, sorted(panels.items())):
        for i, name in enumerate(names):
            points = sorted(algorithms[name].items())
            axis.plot([nodes for nodes, _ in points], [statistics.median(values) for _, values in points], label=name,
                      color="black" if name == "mpi" else f"C{i % 10}", marker=markers[i % len(markers)], markersize=5,
                      linewidth=1.2)
        axis.set_xticks(sorted({nodes for points in algorithms.values() for nodes in points}))
        axis.set_yscale("log")
        axis.set_title(f"{mpi}, {collective} of {size_text(size)}, {executor}", fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("microseconds")
    axes.flat[0].legend(fontsize=6, ncols=2)
    figure.supxlabel("nodes", fontsize=9)
    finish(figure, rows[0], output, title or f"{rows[0]['ppn']} ranks per node")


def draw_breakdown(rows, output, title):
    """Stacked bars: before, between and after the messages between nodes. One panel for each size and executor."""
    panels = collections.defaultdict(lambda: collections.defaultdict(list))
    phases = ("before_us", "between_us", "after_us")
    for row in rows:
        panels[(row["mpi"], row["collective"], row["bytes"], row["executor"])][row["algorithm"]].append(
            [row[phase] for phase in phases])
    figure, axes = grid(len(panels), 2, (6, 3.8), sharey=False)
    for axis, ((mpi, collective, size, executor), algorithms) in zip(axes.flat, sorted(panels.items())):
        bottom = [0.0] * len(algorithms)
        for phase, label, colour in zip(range(3), ("before (within nodes)", "between nodes", "after (within nodes)"),
                                        ("tab:blue", "tab:red", "tab:green")):
            heights = [statistics.median(values[phase] for values in runs) for runs in algorithms.values()]
            axis.bar(range(len(algorithms)), heights, bottom=bottom, label=label, color=colour, alpha=0.8)
            bottom = [b + h for b, h in zip(bottom, heights)]
        axis.set_xticks(range(len(algorithms)), list(algorithms), rotation=45, ha="right", fontsize=7)
        axis.set_title(f"{mpi}, {collective} of {size_text(size)}, {executor}", fontsize=10)
        axis.grid(axis="y", alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("microseconds")
    axes.flat[0].legend(fontsize=8)
    finish(figure, rows[0], output, title)


def draw_fft(rows, output, title):
    """Bars of the whole time, the transposes' part of it darker: one panel for each size, one bar for each way."""
    panels = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows:
        way = "MPI" if row["algorithm"] == "mpi" else f"{row['algorithm']}, {row['executor']}"
        panels[(row["mpi"], row["numbers"])][way].append((row["median_us"], row["transposes_us"]))
    figure, axes = grid(len(panels), 3, (5, 4.2), sharey=False)
    for axis, ((mpi, numbers), ways) in zip(axes.flat, sorted(panels.items())):
        totals = [statistics.median(total for total, _ in values) for values in ways.values()]
        transposes = [statistics.median(part for _, part in values) for values in ways.values()]
        axis.bar(range(len(ways)), totals, color="tab:blue", alpha=0.35, label="whole FFT")
        axis.bar(range(len(ways)), transposes, color="tab:blue", label="transposes")
        axis.set_xticks(range(len(ways)), list(ways), rotation=45, ha="right", fontsize=7)
        axis.set_title(f"{mpi}, {numbers} numbers", fontsize=10)
        axis.grid(axis="y", alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("microseconds")
    axes.flat[0].legend(fontsize=8)
    finish(figure, rows[0], output, title)


def way_of(row):
    """What a row measured, in a legend: "rma-fence, engine", "MPI, rma-fence"."""
    return "MPI, " + row["executor"].removeprefix("mpi-") if row["algorithm"] == "mpi" else f"{row['algorithm']}, {row['executor']}"


def line_style(ways, way):
    """Colour, marker and line of one of many ways: the MPI library's are dashed."""
    i = ways.index(way)
    return {"color": f"C{i % 10}", "marker": "os^vD<>pPX*h"[i % 12], "markersize": 5, "linewidth": 1.2,
            "linestyle": "--" if way.startswith("MPI") else "-"}


def draw_ways(rows, x, value, panel_of, labels, output, title, reference=None, name_of=way_of):
    """A line for each way (`name_of` a row) over a column `x` of sizes; one panel for each value of `panel_of`. Points without a
    value are left out: an init that never pays for itself. `labels`: of the axes."""
    panels = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for row in rows:
        if row[value] is not None:
            panels[panel_of(row)][name_of(row)][row[x]].append(row[value])
    if not panels:
        return False
    ways = sorted({way for lines in panels.values() for way in lines})
    figure, axes = grid(len(panels), 2, (6.5, 4.2))
    for axis, (panel, lines) in zip(axes.flat, sorted(panels.items())):
        for way, points in sorted(lines.items()):
            sizes = sorted(points)
            axis.plot(sizes, [statistics.median(points[size]) for size in sizes], label=way, **line_style(ways, way))
        size_axis(axis, sorted({row[x] for row in rows}))
        ratio_axis(axis)
        if reference is not None:
            axis.axhline(reference, color="black", linewidth=0.8, linestyle=":")
        axis.minorticks_off()
        axis.set_title(panel, fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel(labels[1])
    axes.flat[0].legend(fontsize=6, ncols=2)
    figure.supxlabel(labels[0], fontsize=9)
    finish(figure, rows[0], output, title)
    return True


def draw_matrices(rows, output, title):
    """Bars of time over the blocking call's, a group for each matrix."""
    panels = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for row in rows:
        panels[row["mpi"]][way_of(row)][row["matrix"]].append(row["ratio"])
    figure, axes = grid(len(panels), 1, (11, 4))
    for axis, (mpi, ways) in zip(axes.flat, sorted(panels.items())):
        matrices = sorted({matrix for bars in ways.values() for matrix in bars})
        width = 0.85 / len(ways)
        for i, (way, bars) in enumerate(sorted(ways.items())):
            axis.bar([matrices.index(matrix) + (i + 0.5) * width for matrix in bars],
                     [statistics.median(values) for values in bars.values()], width, label=way, color=f"C{i % 10}",
                     hatch="//" if way.startswith("MPI") else None)
        axis.set_xticks([i + 0.425 for i in range(len(matrices))], matrices, fontsize=8)
        axis.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
        ratio_axis(axis)
        axis.set_title(mpi, fontsize=10)
        axis.grid(axis="y", alpha=0.3)
        axis.set_ylabel("time / MPI_Alltoallv")
    axes.flat[0].legend(fontsize=6, ncols=3)
    finish(figure, rows[0], output, title)


def draw_heatmap(pattern, output, title):
    """Elements sent, by process and destination, and received, by process and source."""
    sent = pattern["send_counts"]
    received = [list(column) for column in zip(*sent)]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4))
    for axis, counts, name, peer in ((axes[0], sent, "sendcounts", "destination"), (axes[1], received, "recvcounts", "source")):
        image = axis.imshow(counts, cmap="viridis", interpolation="nearest")
        figure.colorbar(image, ax=axis, label=f"elements of {pattern['element_bytes']} bytes")
        axis.set_title(name, fontsize=10)
        axis.set_xlabel(peer)
        axis.set_ylabel("process")
        for dimension in (axis.xaxis, axis.yaxis):
            dimension.set_major_locator(ticker.MaxNLocator(integer=True))
    figure.suptitle(title or f"{pattern['matrix']}: {pattern['rows']} x {pattern['columns']}, {pattern['entries']} entries, "
                    f"{len(sent)} processes", fontsize=11)
    figure.tight_layout()
    figure.savefig(output, dpi=150)
    print(output)


def draw_alltoallv(rows, prefix, title):
    """All pictures of the persistent alltoallv. Returns how many."""
    drawn = 0
    uniform = [row for row in rows if row.get("matrix") is None]
    for value, label, reference, kind in (("ratio", "time / MPI_Alltoallv", 1.0, "alltoallv"),
                                          ("break_even", "uses until the init has paid for itself", None, "break-even")):
        drawn += bool(uniform) and draw_ways(
            uniform, "bytes_per_process", value, lambda row: f"{row['mpi']}, {row['scaling']} scaling",
            ("bytes per process", label), f"{prefix}-{kind}.png", title, reference)
    sparse = [row for row in rows if row.get("matrix") is not None]
    if sparse:
        draw_matrices(sparse, f"{prefix}-matrices.png", title)
        drawn += 1
    return drawn


BUFFERS = {"heap": "ordinary", "mapped": "mapped"}


def draw_reduction(rows, output, title):
    """Time over the size of the vector: stoker's on each kind of buffers, the MPI library's calls on ordinary ones."""
    def way(row):
        own = row["executor"].removeprefix("mpi-")
        return f"MPI, {own}" if row["algorithm"] == "mpi" else f"stoker, {own}, {BUFFERS[row['buffers']]}"

    shown = [row for row in rows if row["algorithm"] != "mpi" or row["buffers"] == "heap"]
    return draw_ways(shown, "bytes", "median_us", lambda row: f"{row['mpi']}, {row['nodes']} x {row['ppn']}",
                     ("bytes", "microseconds"), output, title or rows[0]["benchmark"], name_of=way)


MEMORY_STYLES = {
    "mpi-allocated": ("MPI, allocated window", "tab:orange", "^"),
    "mpi-created": ("MPI, created window", "tab:red", "v"),
    "openshmem": ("OpenSHMEM", "tab:green", "D"),
    "engine": ("stoker", "tab:blue", "o"),
    "load-store": ("load and store", "tab:gray", "s"),
}


def draw_memory(rows, x, value, panel_of, labels, output, title, sizes=True, linear=False):
    """A line for each way of one-sided communication over a column `x`; `labels`: of the axes."""
    panels = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for row in rows:
        panels[panel_of(row)][row["executor"]][row[x]].append(row[value])
    figure, axes = grid(len(panels), 2, (5.5, 3.8))
    for axis, (panel, executors) in zip(axes.flat, sorted(panels.items())):
        for executor, (label, colour, marker) in MEMORY_STYLES.items():
            points = sorted(executors.get(executor, {}).items())
            if points:
                axis.plot([place for place, _ in points], [statistics.median(values) for _, values in points], label=label,
                          color=colour, marker=marker, markersize=4, linewidth=1.3)
        places = sorted({place for points in executors.values() for place in points})
        if sizes:
            size_axis(axis, places)
        else:
            axis.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        if linear:
            axis.set_ylim(bottom=0)
        else:
            axis.set_yscale("log")
        axis.set_title(panel, fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel(labels[1])
    axes.flat[0].legend(fontsize=8)
    figure.supxlabel(labels[0], fontsize=9)
    finish(figure, rows[0], output, title)


def draw_bars(rows, group_of, value, panel_of, ylabel, output, title, wide=False):
    """Bars, a group for each value of `group_of`, one bar in it for each way of one-sided communication. `wide`: for many groups,
    of very different heights."""
    panels = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
    for row in rows:
        panels[panel_of(row)][group_of(row)][row["executor"]].append(row[value])
    figure, axes = grid(len(panels), 1 if wide else 2, (11 if wide else 5.5, 3.8), sharey=False)
    for axis, (panel, groups) in zip(axes.flat, sorted(panels.items())):
        present = [executor for executor in MEMORY_STYLES if any(executor in bars for bars in groups.values())]
        width = 0.8 / len(present)
        for i, executor in enumerate(present):
            label, colour, _ = MEMORY_STYLES[executor]
            heights = [(place, statistics.median(bars[executor])) for place, bars in enumerate(groups.values()) if executor in bars]
            axis.bar([place + (i + 0.5) * width for place, _ in heights], [height for _, height in heights], width, label=label,
                     color=colour)
        axis.set_xticks([place + 0.4 for place in range(len(groups))], list(groups), fontsize=8)
        if wide:
            axis.set_yscale("log")
        axis.set_title(panel, fontsize=10)
        axis.grid(axis="y", alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel(ylabel)
    axes.flat[0].legend(fontsize=8)
    finish(figure, rows[0], output, title)


def draw_one_sided(rows, prefix, title):
    """All pictures of global memory. Returns how many."""
    def place(row):
        return f"{row['mpi']}, {row['nodes']} x {row['ppn']}"

    drawn = 0
    putget = [row for row in rows if row["benchmark"] == "putget"]
    for measure, x, value, panel, labels, kind, options in (
        ("latency", "bytes", "median_us", lambda row: f"{place(row)}: {row['operation']}", ("bytes", "microseconds"), "putget", {}),
        ("distance", "target", "median_us", lambda row: f"{place(row)}: {row['operation']} of {size_text(row['bytes'])}",
         ("target of rank 0", "microseconds"), "distance", {"sizes": False}),
        ("overlap", "bytes", "efficiency", lambda row: f"{place(row)}: {row['operation']}", ("bytes", "efficiency of the step"),
         "putget-overlap", {"linear": True}),
    ):
        chosen = [row for row in putget if row["measure"] == measure]
        if chosen:
            draw_memory(chosen, x, value, panel, labels, f"{prefix}-{kind}.png", title, **options)
            drawn += 1
    for benchmark, group, value, panel, label in (
        ("gups", lambda row: row["updates"], "gups", place, "giga-updates per second"),
        ("stencil", lambda row: row["form"], "us_per_iteration", lambda row: f"{place(row)}: {row['side']} x {row['side']}",
         "microseconds per iteration"),
        ("passive", lambda row: f"{row['operation']}\n{size_text(row['bytes'])}\n{row['target_does']}", "median_us", place,
         "microseconds until complete"),
    ):
        chosen = [row for row in rows if row["benchmark"] == benchmark]
        if chosen:
            draw_bars(chosen, group, value, panel, label, f"{prefix}-{benchmark}.png", title, benchmark == "passive")
            drawn += 1
    return drawn


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--output", default="stoker-bench", metavar="PREFIX")
    parser.add_argument("--title", default="")
    parser.add_argument("--bytes", default="", help="only these sizes")
    arguments = parser.parse_args()
    rows = read(arguments.files)
    if arguments.bytes:
        sizes = {int(size) for size in arguments.bytes.split(",")}
        rows = [row for row in rows if row.get("bytes") in sizes]
    drawn = 0
    for benchmark, value, ylabel, log in (
        ("overlap", "efficiency", "efficiency of the step", False),
        ("latency", "ratio", "time / blocking MPI call", True),
    ):
        chosen = [row for row in rows if row["benchmark"] == benchmark]
        if chosen:
            draw(chosen, value, ylabel, 1.0, f"{arguments.output}-{benchmark}.png", arguments.title, log)
            drawn += 1
    chosen = [row for row in rows if row["benchmark"] == "alltoall"]
    if chosen:
        draw_algorithms(chosen, f"{arguments.output}-alltoall.png", arguments.title)
        drawn += 1
    if len({row["nodes"] for row in chosen}) > 1:
        draw_scaling(chosen, f"{arguments.output}-scaling.png", arguments.title)
        drawn += 1
    chosen = [row for row in rows if row.get("between_us") is not None]
    if chosen:
        draw_breakdown(chosen, f"{arguments.output}-breakdown.png", arguments.title)
        drawn += 1
    chosen = [row for row in rows if row["benchmark"] == "fft"]
    if chosen:
        draw_fft(chosen, f"{arguments.output}-fft.png", arguments.title)
        drawn += 1
    drawn += draw_alltoallv([row for row in rows if row["benchmark"] == "alltoallv"], arguments.output, arguments.title)
    for pattern in (row for row in rows if row["benchmark"] == "pattern"):
        draw_heatmap(pattern, f"{arguments.output}-heatmap-{pattern['matrix']}.png", arguments.title)
        drawn += 1
    for benchmark in ("allreduce", "reduce", "bcast"):
        chosen = [row for row in rows if row["benchmark"] == benchmark]
        drawn += bool(chosen) and draw_reduction(chosen, f"{arguments.output}-{benchmark}.png", arguments.title)
    drawn += draw_one_sided(rows, arguments.output, arguments.title)
    if not drawn:
        parser.error("nothing in these files that there is a picture of")


if __name__ == "__main__":
    main()
