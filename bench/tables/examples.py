#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-examples left, as markdown tables: targets, and then all contestants.

    bench/tables/examples.py FOLDER

A value is the median over the launches, with the least and the most. A ratio is that of each launch, of the fastest way with
stoker to the fastest of those that it is compared with; which ones these are is decided by their medians over the launches.
"""
import argparse
import collections
import itertools
import json
import pathlib
import statistics

import report

PLACES = {"shared": "2 hosts x 1, shared cores", "spare": "2 hosts x 1, core to spare, as 1 Gbit/s",
          "spare-fast": "2 hosts x 1, core to spare, as 2.5 Gbit/s", "spare-4": "4 hosts x 1, core to spare, as 1 Gbit/s",
          "whole": "4 hosts x 3, 4 cores each, 10 Gbit/s"}
# What is added to a contestant's name, by the kind of launch.
HOW = {"alone": "", "thread": ", progress thread", "full": ", a rank on every core"}
THREAD, FULL = HOW["thread"], HOW["full"]


def contestant(row):
    """What the row is of: name, milliseconds, whether stoker has a part in it."""
    if "reduce" in row:
        name = f"{row['variant']}, sums by {row['reduce']}, halo by {row['exchange']}"
        return name, row["iteration_us"]["median"] / 1e3, "stoker" in name
    if row["benchmark"] == "stencil":
        return f"{row['form']}, {row['executor']}", row["us_per_iteration"] / 1e3, not row["executor"].startswith("mpi")
    return row["exchange"], row["median_ms"], row["exchange"].startswith("stoker")


class Results:
    """Milliseconds by application, place, MPI library, contestant and launch. Files are called
    APPLICATION.LAUNCH.PLACE.MPI.HOW.json."""

    def __init__(self, folder):
        self.times = collections.defaultdict(lambda: collections.defaultdict(dict))
        self.ours = set()
        for path in sorted(folder.glob("*.*.*.*.*.json")):
            application, launch, place, mpi, how = path.stem.split(".")
            for line in path.read_text(encoding="utf-8").splitlines():
                name, ms, ours = contestant(json.loads(line))
                if how != "alone" and ours:
                    continue
                name += HOW[how]
                self.times[application, place, mpi][name][int(launch)] = ms
                if ours:
                    self.ours.add(name)

    def fastest(self, application, place, mpi, wanted):
        """Milliseconds by launch of that contestant of those wanted whose median is the least, with its name."""
        candidates = [(times, name) for name, times in self.times[application, place, mpi].items() if wanted(name)]
        return min(candidates, key=lambda found: statistics.median(found[0].values()), default=({}, ""))


# application, place, measure, contestants with stoker, contestants compared with, at most
def targets(results):
    def ours(name):
        return name in results.ours

    def any_mpi(name):
        return name not in results.ours

    def mpi(name):
        return any_mpi(name) and FULL not in name

    def alone(name):
        return mpi(name) and THREAD not in name

    def engine(name):
        return ours(name) and "inline" not in name

    yield "eigensolver", "shared", "MPI without tests", ours, lambda name: name == "mpi-nonblocking", 0.70
    yield "eigensolver", "shared", "best of MPI", ours, mpi, 0.95
    for place in ("spare", "spare-fast", "whole"):
        yield "eigensolver", place, "best of MPI", ours, mpi, 0.80
        yield "eigensolver", place, "best of MPI without progress thread", ours, alone, None
    yield "taylor-green", "shared", "best of MPI", ours, mpi, 0.97
    for place in ("spare", "spare-fast", "whole"):
        yield "taylor-green", place, "best of MPI", ours, mpi, 0.85
        yield "taylor-green", place, "best of MPI without progress thread", ours, alone, None
    for application in ("eigensolver", "taylor-green"):
        yield application, "shared", "better of engine and inline, for the engine", engine, ours, 1.02
    for application in ("eigensolver", "taylor-green", "gradients"):
        yield application, "whole", "best of MPI, a rank on every core as well", ours, any_mpi, None
    for place, halo in itertools.product(("spare-4", "whole"), ("stoker", "mpi-nonblocking")):
        yield ("gradients", place, f"pipelined, with MPI_Iallreduce, both with the halo by {halo}",
               lambda name, halo=halo: name == f"pipelined, sums by stoker, halo by {halo}",
               lambda name, halo=halo: name == f"pipelined, sums by mpi, halo by {halo}", 0.90)
    yield "gradients", "spare-4", "best of MPI alone", ours, mpi, None
    yield "stencil", "shared", "native RMA", ours, mpi, 1.0
    yield "stencil", "spare", "native RMA", ours, mpi, 0.8


def ratio_line(over, under, limit):
    """Cells of a ratio and what came out of it."""
    (times, name), (others, other) = over, under
    ratios = [times[launch] / others[launch] for launch in sorted(times.keys() & others.keys())]
    if not ratios:
        return ["not measured", "", "", ""]
    met = "" if limit is None else "yes" if statistics.median(ratios) <= limit else "no"
    return [report.value(ratios), name, other, met]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    results = Results(parser.parse_args().folder)
    if not results.times:
        parser.error("no results there")
    lines = []
    libraries = sorted({mpi for _, _, mpi in results.times})
    for application, place, measure, ours, theirs, limit in targets(results):
        for mpi in libraries:
            if (application, place, mpi) in results.times:
                lines.append([application, PLACES[place], mpi, measure, "" if limit is None else f"<= {limit:g}"] + ratio_line(
                    results.fastest(application, place, mpi, ours), results.fastest(application, place, mpi, theirs), limit))
    report.print_table(("application", "where", "mpi", "stoker / ...", "target", "median (launches)", "stoker's", "compared with", "met"),
             lines)
    lines = []
    for (application, place, mpi), contestants in sorted(results.times.items()):
        best, _ = results.fastest(application, place, mpi, lambda name: name not in results.ours)
        for name, times in contestants.items():
            ratios = [times[launch] / best[launch] for launch in sorted(times.keys() & best.keys())]
            lines.append([application, PLACES[place], mpi, name, report.value(list(times.values())), report.value(ratios) if ratios else "-"])
    report.print_table(("application", "where", "mpi", "contestant", "ms (launches)", "/ best of MPI"), lines)


if __name__ == "__main__":
    main()
