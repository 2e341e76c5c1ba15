#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-one-sided --only openshmem left, as a markdown table: stoker's global memory beside OpenSHMEM and MPI's windows.

    bench/tables/openshmem.py FOLDER

Times are medians over the launches, in microseconds; a ratio is that of one launch's medians, with the least and the most.
"""
import argparse
import pathlib
import statistics

import report

BASELINE, OURS, WINDOW = "openshmem", "engine", "mpi-allocated"


def where(row):
    return f"{row['nodes']} hosts x {row['ppn']}" if row["nodes"] > 1 else f"one host x {row['ppn']}"


def what(row):
    if row["benchmark"] == "putget":
        return f"{row['operation']}, {report.size_text(row['bytes'])}"
    if row["benchmark"] == "gups":
        return f"random access, {row['updates']}"
    return f"stencil {row['side']} x {row['side']}, {row['form']}"


def points(rows):
    """For each point in the order of the benchmarks: where, what, times by way, and ratios of the launches that have both."""
    order = ["putget", "gups", "stencil"]
    for (place, _, _, point), group in sorted(
            report.grouped(rows, lambda row: (where(row), order.index(row["benchmark"]), row["bytes"] or 0, what(row))).items()):
        times = {}
        for row in group:
            times.setdefault(row["executor"], {})[row["launch"]] = row["median_us"]
        ours, theirs = times.get(OURS, {}), times.get(BASELINE, {})
        yield place, point, times, [ours[launch] / theirs[launch] for launch in sorted(ours.keys() & theirs.keys())]


def cells(times, ratios):
    for way in (OURS, BASELINE, WINDOW):
        yield f"{statistics.median(times[way].values()):.3g}" if way in times else "-"
    yield report.value(ratios) if ratios else "-"
    yield "-" if not ratios else "yes" if statistics.median(ratios) < 1 else "no"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    rows = [row for row in report.read(parser.parse_args().folder) if row["what"].startswith("openshmem-")]
    found = list(points(rows))
    report.print_table(["where", "what", "stoker (us)", "OpenSHMEM (us)", "MPI's allocated window (us)", "stoker / OpenSHMEM", "ahead"],
                       [[place, point, *cells(times, ratios)] for place, point, times, ratios in found])
    compared = [statistics.median(ratios) for _, _, _, ratios in found if ratios]
    print(f"Ahead at {sum(ratio < 1 for ratio in compared)} of {len(compared)} points.")


if __name__ == "__main__":
    main()
