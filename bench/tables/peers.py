#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-peers left, as a markdown table: blocking calls of Open MPI by component, and stoker's compared with the best.

    bench/tables/peers.py FOLDER

Times are medians over the launches, in microseconds. Each of stoker's ratios is the median of those of its launches to the best
component's launch of the same number, with the least and the most.
"""
import argparse
import pathlib
import statistics

import report

COMPONENTS = ("default", "tuned", "han", "adapt", "sm")
EXECUTORS = ("inline", "engine")


def place(shape):
    hosts, ranks = shape.split("x")
    return f"{ranks} ranks" if hosts == "1" else f"{hosts} hosts x {ranks}"


def times_of(rows, executor):
    return report.by_launch([row for row in rows if row["executor"] == executor])


def lines_of(rows):
    points = report.grouped(rows, lambda row: (row["shape"], row["collective"], row["bytes"]))
    for (shape, collective, size), group in points.items():
        of = {component: [row for row in group if row["what"] == component] for component in COMPONENTS}
        calls = {component: times_of(of[component], "mpi-blocking") for component in COMPONENTS if of[component]}
        medians = {component: statistics.median(times.values()) for component, times in calls.items()}
        best = min(medians, key=medians.get)
        cells = [f"{medians[component]:.3g}" if component in medians else "-" for component in COMPONENTS]
        for executor in EXECUTORS:
            ratios = [time / calls[best][launch] for launch, time in times_of(of[best], executor).items() if launch in calls[best]]
            cells.append(report.spread(ratios, 2) if ratios else "-")
        yield [place(shape), collective, report.size_text(size), *cells, best]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    rows = report.read(parser.parse_args().folder)
    print(rows[0]["mpi_version"] + "\n" if rows else "nothing was measured")
    report.print_table(["where", "collective", "bytes", *COMPONENTS, *(f"{executor} / best" for executor in EXECUTORS), "best"],
                       lines_of(rows))


if __name__ == "__main__":
    main()
