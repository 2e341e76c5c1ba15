#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-point-to-point left, as a markdown table: each point with its target.

    bench/tables/point-to-point.py FOLDER

A value is the median over the launches, with the least and the most. Launches are compared with those of the same number.
"""
import collections
import statistics

import report

WHERE = {"overlap": ("2 hosts x 1, 1 Gbit/s", 0.75), "slow": ("2 hosts x 1, slow motion", 0.93)}


def read(folder):
    """(what, mpi, point) -> alone|off|on -> launch -> row, from WHAT-HOW.LAUNCH.PLACE.MPI.json."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in report.read(folder):
        what, how = row["what"].split("-")
        found[(what, row["mpi"], row.get("bytes", row.get("call")))][how][row["launch"]] = row
    return found


def rows_of(found):
    for (what, mpi, point), ways in found.items():
        for how in ("off", "on"):
            launches = sorted(set(ways[how]) & set(ways["alone"]))
            if not launches:
                continue
            ours = [ways[how][launch] for launch in launches]
            alone = [ways["alone"][launch] for launch in launches]
            if what in WHERE:
                place, target = WHERE[what]
                reached = [row["efficiency"] for row in ours]
                steps = [a["overall_us"] / b["overall_us"] for a, b in zip(ours, alone)]
                yield (f"step efficiency, {report.size_text(point)}", place, mpi, f">= {target}", report.spread(reached, 2),
                       f"without: {report.spread([row['efficiency'] for row in alone], 2)}; step with / without: {report.spread(steps, 2)}",
                       statistics.median(reached) >= target)
            else:
                more = [a["call_ns"] - b["call_ns"] for a, b in zip(ours, alone)]
                yield (f"{point}, {'on' if how == 'on' else 'off'}: ns more", "one host", mpi, "<= 20 a call", report.spread(more, 1),
                       f"without: {statistics.median([row['call_ns'] for row in alone]):.1f} ns",
                       statistics.median(more) <= 20 * str(point).count("MPI_"))


if __name__ == "__main__":
    report.print_points(__doc__, lambda folder: rows_of(read(folder)))
