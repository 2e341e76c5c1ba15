# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the counterparts: lines over sizes, ranks or radices, phases side by side, and a map of two radices."""
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib import colors, ticker
from PIL import Image

MARKERS = "os^vDPX*<>"
LIBRARY_STYLES = {"openmpi": ("Open MPI's rules", "black", "s"), "mpich": ("MPICH's rules", "dimgray", "D")}


def size_text(size):
    for unit, factor in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}B"
    return f"{size:g} B"


def time_text(seconds):
    for unit, factor in (("s", 1), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs" if seconds >= 1e-6 else f"{seconds / 1e-9:.3g} ns"


def plain_axis(axis):
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def finish(figure, path, legend_of=None):
    if figure.get_layout_engine() is None:
        figure.tight_layout()
    if legend_of is not None:
        handles, labels = legend_of.get_legend_handles_labels()
        figure.legend(handles, labels, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    figure.savefig(path, dpi=80, bbox_inches="tight")
    plt.close(figure)
    with Image.open(path) as picture:  # 64 colours suffice, and take a third of the bytes
        few = picture.convert("RGB").quantize(64)
    few.save(path, optimize=True)
    print(path)


def panels_of(count):
    figure, axes = plt.subplots(1, count, figsize=(4.4 * count, 3.6), squeeze=False)
    return figure, axes[0]


def lines(path, panels, xlabel, sizes=False, ylabel="time (ms)", unit=1e-3, few_ticks=False):
    """panels: {title: {label: {x: seconds}}}. Both axes are logarithmic; `sizes`: x are bytes. `few_ticks`: at powers
    of four rather than at every x."""
    figure, axes = panels_of(len(panels))
    labels = list(dict.fromkeys(label for curves in panels.values() for label in curves))
    for axis, (title, curves) in zip(axes, panels.items()):
        for label, points in curves.items():
            place = labels.index(label)
            shown, colour, marker = LIBRARY_STYLES.get(label, (label, f"C{place % 10}", MARKERS[place % 10]))
            axis.plot(list(points), [value / unit for value in points.values()], label=shown, color=colour,
                      marker=marker, markersize=4, linewidth=1.4,
                      linestyle="--" if label in LIBRARY_STYLES else "-")
        ticks = sorted({x for points in curves.values() for x in points})
        if few_ticks:
            ticks = [4 ** n for n in range(10) if ticks[0] <= 4 ** n <= ticks[-1]]
        axis.set_xscale("log", base=2)
        axis.set_xticks(ticks, [size_text(x) if sizes else f"{x:g}" for x in ticks], fontsize=8,
                        rotation=45 if len(ticks) > 6 or sizes else 0)
        axis.minorticks_off()
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        plain_axis(axis.yaxis)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(xlabel, fontsize=9)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(ylabel, fontsize=9)
    finish(figure, path, max(axes, key=lambda axis: len(axis.lines)))


def phases(path, panels, xlabel, sizes=False):
    """panels: {title: {x: {phase: seconds}}}, bars side by side on a logarithmic axis."""
    figure, axes = panels_of(len(panels))
    for axis, (title, bars) in zip(axes, panels.items()):
        names = list(next(iter(bars.values())))
        width = 0.8 / len(names)
        for n, name in enumerate(names):
            axis.bar([place + (n - (len(names) - 1) / 2) * width for place in range(len(bars))],
                     [bar[name] / 1e-3 for bar in bars.values()], width, label=name)
        axis.set_xticks(range(len(bars)), [size_text(x) if sizes else f"{x}" for x in bars], fontsize=8)
        axis.set_yscale("log")
        plain_axis(axis.yaxis)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(xlabel, fontsize=9)
        axis.grid(alpha=0.3, axis="y")
    axes[0].set_ylabel("time (ms)", fontsize=9)
    finish(figure, path, axes[0])


def heat_map(path, title, times, xlabel, ylabel):
    """times: {(x, y): seconds}"""
    xs, ys = (sorted({key[place] for key in times}) for place in (0, 1))
    figure, axis = plt.subplots(figsize=(4.8, 3.6))
    image = axis.imshow([[times[x, y] / 1e-3 for x in xs] for y in ys], origin="lower", aspect="auto", cmap="viridis_r")
    axis.set_xticks(range(len(xs)), xs)
    axis.set_yticks(range(len(ys)), ys)
    best = min(times, key=times.get)
    for (x, y), seconds in times.items():
        axis.text(xs.index(x), ys.index(y), f"{seconds / 1e-3:.3g}", ha="center", va="center", fontsize=8,
                  color="white" if seconds > 0.6 * max(times.values()) else "black",
                  weight="bold" if (x, y) == best else "normal")
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(xlabel, fontsize=9)
    axis.set_ylabel(ylabel, fontsize=9)
    figure.colorbar(image, label="time (ms)")
    finish(figure, path)


def patterns(path, counts_of, label):
    """counts_of: {title: [source][destination]}, with one scale of colours; pairs that exchange nothing are white."""
    columns = min(4, len(counts_of))
    lines_ = -(-len(counts_of) // columns)
    figure, axes = plt.subplots(lines_, columns, figsize=(2.6 * columns + 0.8, 2.6 * lines_), squeeze=False,
                                layout="constrained")
    scale = colors.LogNorm(1, max(max(map(max, counts)) for counts in counts_of.values()))
    for axis in axes.flat[len(counts_of):]:
        axis.set_visible(False)
    for axis, (title, counts) in zip(axes.flat, counts_of.items()):
        shown = [[count or float("nan") for count in row] for row in counts]
        image = axis.imshow(shown, cmap="viridis_r", norm=scale, interpolation="nearest")
        axis.set_title(title, fontsize=9)
        axis.tick_params(labelsize=7)
    for axis in axes[:, 0]:
        axis.set_ylabel("source", fontsize=8)
    for axis in axes[-1, :]:
        axis.set_xlabel("destination", fontsize=8)
    figure.colorbar(image, ax=axes, label=label, shrink=0.6)
    finish(figure, path)


def stacked(path, panels, xlabel):
    """panels: {title: {label: {x: (lower seconds, upper seconds)}}}, bars side by side, the lower part darker."""
    figure, axes = panels_of(len(panels))
    for axis, (title, bars) in zip(axes, panels.items()):
        width = 0.8 / len(bars)
        for n, (label, points) in enumerate(bars.items()):
            shown, colour, _ = LIBRARY_STYLES.get(label, (label, f"C{n}", ""))
            places = [place + (n - (len(bars) - 1) / 2) * width for place in range(len(points))]
            lower, upper = ([pair[part] / 1e-3 for pair in points.values()] for part in (0, 1))
            axis.bar(places, lower, width, color=colour, label=shown)
            axis.bar(places, upper, width, bottom=lower, color=colour, alpha=0.35)
        axis.set_xticks(range(len(points)), [str(x) for x in points], fontsize=8)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(xlabel, fontsize=9)
        axis.grid(alpha=0.3, axis="y")
    axes[0].set_ylabel("time (ms)", fontsize=9)
    finish(figure, path, axes[0])


def table(corner, curves, columns, column_text=str):
    """Markdown: a line for each label, times in columns; the fastest of a column is bold."""
    best = {x: min(points[x] for points in curves.values() if x in points) for x in columns}
    lines_ = [f"| {corner} | " + " | ".join(column_text(x) for x in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for label, points in curves.items():
        cells = []
        for x in columns:
            text = time_text(points[x]) if x in points else "-"
            cells.append(f"**{text}**" if points.get(x) == best[x] else text)
        label = LIBRARY_STYLES[label][0] if label in LIBRARY_STYLES else f"`{label}`"
        lines_.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines_)
