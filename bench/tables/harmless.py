#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-harmless left, as markdown tables: the targets with how many points miss them and the worst one, and then the points
that miss them.

    bench/tables/harmless.py FOLDER

A value is the median over the launches, with the least and the most.
"""
import argparse
import pathlib
import statistics

import report

PLACES = {"1x2": "one host x 2", "2x1": "2 hosts x 1, 1 Gbit/s"}
TARGETS = {"overlap": ("overlapped step / best MPI step", 1.03), "at-once": ("Start and Wait, engine / inline", 1.2)}


def overlap_ratios(rows):
    """Of the steps of stoker's requests, by point: one of each launch."""
    return report.grouped([row for row in rows if row["executor"] == "engine"],
                          lambda row: f'{row["collective"]}, {report.size_text(row["bytes"])}, {row["kernel"]}')


def at_once_ratios(rows):
    found = {}
    for point, group in report.grouped(rows, lambda row: f'{row["collective"]}, {report.size_text(row["bytes"])}').items():
        times = {(row["launch"], row["executor"]): row["median_us"] for row in group}
        found[point] = [{"ratio": time / times[launch, "inline"]} for (launch, executor), time in times.items()
                        if executor == "engine" and (launch, "inline") in times]
    return found


def judge(rows):
    """Lines of the targets, and lines of the points that miss them."""
    lines, missed = [], []
    for (what, shape, mpi), group in sorted(report.grouped(rows, lambda row: (row["what"], row["shape"], row["mpi"])).items()):
        measure, limit = TARGETS[what]
        points = (overlap_ratios if what == "overlap" else at_once_ratios)(group)
        numbers = {point: [row["ratio"] for row in of] for point, of in points.items() if of}
        if not numbers:
            continue
        medians = {point: statistics.median(of) for point, of in numbers.items()}
        above = sorted((point for point in numbers if medians[point] > limit), key=lambda point: -medians[point])
        worst = max(medians, key=medians.get)
        where = PLACES.get(shape, shape)
        lines.append([measure, where, mpi, f"<= {limit}", f"{len(above)} of {len(numbers)}",
                      f"{report.value(numbers[worst])}: {worst}", "no" if above else "yes"])
        missed += [[measure, where, mpi, point, report.value(numbers[point])] for point in above]
    return lines, missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    lines, missed = judge(report.read(parser.parse_args().folder))
    report.print_table(["measure", "where", "MPI", "target", "points that miss it", "the worst", "met"], lines)
    if missed:
        report.print_table(["measure", "where", "MPI", "point", "value"], missed)


if __name__ == "__main__":
    main()
