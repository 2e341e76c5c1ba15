#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-devices left, as a markdown table: each point with its target.

    bench/tables/devices.py FOLDER

A value is the median over the launches, with the least and the most.
"""
import statistics

import report

LATENCY_TARGET = 0.2  # Start and Wait / the MPI library's blocking call on copies in the host's memory
OVERLAP_TARGET = 0.9  # efficiency of a step


def rows_of(rows):
    ours = [row for row in rows if row["executor"] in ("engine", "inline", "device")]
    key = lambda row: (row["benchmark"], row["collective"], row["bytes"], row["executor"], row["mpi"])  # noqa: E731
    for (benchmark, collective, size, executor, mpi), group in report.grouped(ours, key).items():
        where = f"one host x 2, {group[0]['device']}"
        name = f"{collective} of {report.size_text(size)}, {executor}"
        if benchmark == "latency":
            values = [row["ratio"] for row in group]
            yield (f"{name}: Start and Wait", where, mpi, f"<= {LATENCY_TARGET}", report.spread(values, 2),
                   f"{group[0]['baseline']}: {statistics.median(row['baseline_us'] for row in group):.1f} us",
                   statistics.median(values) <= LATENCY_TARGET)
        else:
            values = [row["efficiency"] for row in group]
            yield (f"{name}: step efficiency", where, mpi, f">= {OVERLAP_TARGET}", report.spread(values, 2),
                   f"{group[0]['baseline']}: {statistics.median(row['baseline_us'] for row in group):.1f} us",
                   statistics.median(values) >= OVERLAP_TARGET)


if __name__ == "__main__":
    report.print_points(__doc__, lambda folder: rows_of(report.read(folder)))
