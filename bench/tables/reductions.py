#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-reductions left, as markdown tables: each target with the worst point that it is about, and then all points.

    bench/tables/reductions.py FOLDER

A value is the median over the launches, with the least and the most. Ratios of allreduce, reduce and bcast are to that call of
the MPI libraries (blocking, nonblocking or persistent, on either kind of buffers, MPICH's or Open MPI's) whose median over the
launches is the least, as it was in the launch of the same number.
"""
import argparse
import dataclasses
import pathlib
import statistics
import typing

import report

KIB, MIB = report.KIB, report.MIB
MPIS = ("mpich", "openmpi")
COLLECTIVES = ("allreduce", "reduce", "bcast")
PLACES = {"1x2": "one host x 2", "4x2": "4 hosts x 2, 1 Gbit/s", "2x4": "2 hosts x 4, 1 Gbit/s",
          "2x1": "2 hosts x 1, 1 Gbit/s", "4x1": "4 hosts x 1, 1 Gbit/s", "4x16": "4 hosts x 16"}


@dataclasses.dataclass
class Target:
    measure: str
    shape: str
    values: typing.Callable  # rows of the shape, mpi -> {point: Value}
    limit: float
    at_least: bool = False
    possible: float = float("inf")  # a better value than any can be shows that the machine was disturbed
    mpis: tuple = MPIS

    def met(self, value):
        return self.limit <= value <= self.possible if self.at_least else value <= self.limit

    def worst(self, values):
        return (min if self.at_least else max)(values.items(), key=lambda item: item[1].median)


class Value:
    """Of one point: a number from each launch, and what it is compared with."""

    def __init__(self, numbers, beside=""):
        self.numbers, self.beside = numbers, beside
        self.median = statistics.median(numbers)

    def __str__(self):
        return report.value(self.numbers)


def fastest_call(rows):
    """Name and {launch: microseconds} of that call of the MPI libraries that is the fastest in the median of the launches."""
    calls = report.grouped((row for row in rows if row["algorithm"] == "mpi"),
                    lambda row: f"{row['mpi']}, {row['executor'].removeprefix('mpi-')}, {row['buffers']}")
    times = {name: report.by_launch(group) for name, group in calls.items()}
    return min(times.items(), key=lambda item: statistics.median(item[1].values()), default=("", {}))


def to_fastest(collective, buffers, least=0, most=float("inf")):
    """Inline stoker's time over the fastest MPI call's, for each size."""
    def values(rows, mpi):
        found = {}
        rows = [row for row in rows if row["what"] == collective and least <= row["bytes"] <= most]
        for size, group in sorted(report.grouped(rows, lambda row: row["bytes"]).items()):
            ours = report.by_launch(row for row in group if row["algorithm"] != "mpi" and row["executor"] == "inline"
                                    and row["mpi"] == mpi and row["buffers"] == buffers)
            name, theirs = fastest_call(group)
            ratios = [ours[launch] / theirs[launch] for launch in sorted(ours.keys() & theirs.keys())]
            if ratios:
                found[report.size_text(size)] = Value(ratios, f"{statistics.median(theirs.values()):.4g} us: {name}")
        return found
    return values


def efficiency(collective):
    """Of an overlapped step with the engine, for each size and kernel."""
    def values(rows, mpi):
        found = {}
        rows = [row for row in rows if row["what"] == "overlap" and row["mpi"] == mpi and row["collective"] == collective]
        for (size, kernel), group in report.grouped(rows, lambda row: (row["bytes"], row["kernel"])).items():
            of = {executor: [row["efficiency"] for row in group if row["executor"] == executor]
                  for executor in ("engine", "mpi-nonblocking")}
            if of["engine"]:
                found[f"{report.size_text(size)}, {kernel} kernel"] = Value(
                    of["engine"], f"{statistics.median(of['mpi-nonblocking']):.3g}: nonblocking")
        return found
    return values


def pipelined(rows, mpi):
    """Time of an iteration over that with MPI_Iallreduce."""
    rows = [row for row in rows if row["what"] == "pipelined-cg" and row["mpi"] == mpi]
    found = {}
    for (variant, matrix), group in report.grouped(rows, lambda row: (row["variant"], row["matrix"])).items():
        ours = [row for row in group if row["reduce"] == "stoker"]
        theirs = [row["iteration_us"]["median"] for row in group if row["reduce"] == "mpi"]
        if ours and theirs:
            found[f"{variant}, {matrix}"] = Value([row["ratio_to_mpi"]["median"] for row in ours],
                                                  f"{statistics.median(theirs):.4g} us: MPI_Iallreduce")
    return found


def from_wisdom(rows, mpi):
    """Time of a program from wisdom over the compiler's."""
    rows = [row for row in rows if row["what"] == "init" and row["mpi"] == mpi and row["executor"] == "wisdom"]
    points = report.grouped(rows, lambda row: (row["collective"], row["bytes"], row["ranks"], row["algorithm"]))
    return {f"{collective} of {report.size_text(size)}, {ranks} ranks, {algorithm}": Value(
        [row["ratio"] for row in group], f"{statistics.median(row['baseline_us'] for row in group):.4g} us: compiling")
        for (collective, size, ranks, algorithm), group in points.items()}


def targets():
    for collective in COLLECTIVES:
        for buffers, limits in (("mapped", (0.6, 1.0)), ("heap", (0.85, 1.2))):
            for sizes, limit, bounds in (("32 KiB to 8 MiB", limits[0], (32 * KIB, 8 * MIB)),
                                         ("below 32 KiB", limits[1], (0, 32 * KIB - 1))):
                yield Target(f"{collective}, inline, {buffers} buffers, {sizes} / the better MPI's best call", "1x2",
                             to_fastest(collective, buffers, *bounds), limit)
    for collective in COLLECTIVES:
        for shape in ("4x2", "2x4"):
            for buffers in ("mapped", "heap"):
                yield Target(f"{collective}, inline, {buffers} buffers, 8 B to 1 MiB / Open MPI's best call", shape,
                             to_fastest(collective, buffers), 0.9, mpis=("openmpi",))
    for collective in COLLECTIVES:
        yield Target(f"step efficiency, engine, {collective} of 1 MiB", "2x1", efficiency(collective), 0.85, at_least=True,
                     possible=1.05)
    yield Target("pipelined CG, an iteration with the engine / with MPI_Iallreduce", "4x1", pipelined, 0.9,
                 mpis=("openmpi",))
    yield Target("init from wisdom / compiling", "1x2", from_wisdom, 0.2)


def judge(rows):
    """Lines of the table of targets, and of the table of all their points."""
    lines, points = [], []
    for target in targets():
        here = [row for row in rows if row["shape"] == target.shape]
        for mpi in target.mpis:
            values = target.values(here, mpi)
            limit = f"{'>=' if target.at_least else '<='} {target.limit:g}"
            place = PLACES[target.shape]
            if not values:
                lines.append((target.measure, place, mpi, limit, "not measured", "", "", "", ""))
                continue
            point, worst = target.worst(values)
            disturbed = any(value.median > target.possible for value in values.values())
            met = "disturbed" if disturbed else "yes" if all(target.met(v.median) for v in values.values()) else "no"
            share = f"{sum(target.met(v.median) for v in values.values())} of {len(values)}"
            lines.append((target.measure, place, mpi, limit, str(worst), point, worst.beside, share, met))
            points += [(target.measure, place, mpi, limit, name, str(value), value.beside,
                        "yes" if target.met(value.median) else "no") for name, value in values.items()]
    return lines, points


def init_lines(rows):
    """Microseconds of compiling and of whole inits."""
    rows = [row for row in rows if row["what"] in ("init", "init-wisdom")]
    points = report.grouped(rows, lambda row: (row["collective"], row["bytes"], row["ranks"], row["shape"], row["mpi"],
                                        row["executor"] + (", with wisdom" if row["what"] == "init-wisdom" else ""),
                                        row["algorithm"]))
    for (collective, size, ranks, shape, mpi, executor, algorithm), group in sorted(points.items()):
        yield (collective, report.size_text(size), str(ranks), f"{mpi}, {PLACES[shape]}", executor, algorithm,
               str(Value([row["median_us"] for row in group])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    rows = report.read(parser.parse_args().folder)
    if not rows:
        parser.error("no results there")
    lines, points = judge(rows)
    report.print_table(("measure", "where", "mpi", "target", "median, worst point (launches)", "at", "compared with", "points", "met"), lines)
    report.print_table(("measure", "where", "mpi", "target", "point", "median (launches)", "compared with", "met"), points)
    inits = list(init_lines(rows))
    if inits:
        report.print_table(("collective", "size", "ranks", "where", "what", "algorithm", "us (launches)"), inits)


if __name__ == "__main__":
    main()
