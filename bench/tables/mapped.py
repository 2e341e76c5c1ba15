#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-mapped left, as a markdown table: each point with its target.

    bench/tables/mapped.py FOLDER

A value is the median over the launches, with the least and the most. Launches are compared with those of the same number.
"""
import collections
import statistics

import report

TARGETS = {"allreduce": 0.5, "alltoall": 0.8, "block": 1.5}


def read(folder):
    """(what, mpi, point) -> alone|ordinary|mapped -> launch -> microseconds, from WHAT-HOW.LAUNCH.PLACE.MPI.json."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in report.read(folder):
        what, how = row["what"].split("-")
        if what == "heap":
            point, time = ("block", row["call"]), row["call_ns"] / 1000
        else:
            point, time = (row["collective"], report.size_text(row["bytes"])), row["call_us"]
        found[(what, row["mpi"], point)][how][row["launch"]] = time
    return found


def rows_of(found):
    for (what, mpi, (name, size)), ways in found.items():
        launches = sorted(set(ways["mapped"]) & set(ways["alone"]))
        if not launches:
            continue
        ratios = [ways["mapped"][launch] / ways["alone"][launch] for launch in launches]
        times = ", ".join(f"{way}: {statistics.median(of.values()):.1f} us" for way, of in ways.items())
        target = TARGETS[name]
        yield (f"{name} of {size}, {what}", "one host x 2", mpi, f"<= {target}", report.spread(ratios, 2), times,
               statistics.median(ratios) <= target)


if __name__ == "__main__":
    report.print_points(__doc__, lambda folder: rows_of(read(folder)))
