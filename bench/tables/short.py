#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-short left, as a markdown table: exposed time with and without the library, and their ratio.

    bench/tables/short.py FOLDER

A value is the median over the launches, with the least and the most. Launches with and without the library are compared with those of
the same number.
"""
import argparse
import pathlib
import re
import statistics

import report


def target(what, hosts, delay, computation):
    """The limit for the ratio, or None where there is none."""
    if computation == 0:
        return 1.02
    if what == "one" and hosts in (2, 4) and delay >= 10 and computation >= 200:
        return 0.3
    if what == "all" and hosts == 2 and delay == 0 and computation >= 200:
        return 0.8
    return None


def lines_of(rows):
    def point(row):
        what, _ = row["what"].split("-")
        hosts, delay = row["shape"].split("x1d")
        return what, row["mpi"], int(hosts), int(delay), row["bytes"], row["computation_us"]

    for (what, mpi, hosts, delay, size, computation), group in sorted(report.grouped(rows, point).items()):
        by_launch = {(row["launch"], row["what"].split("-")[1]): row for row in group}
        launches = sorted(launch for launch, how in by_launch if how == "with" and (launch, "without") in by_launch)
        if not launches:
            continue

        def ratios(key, by_launch=by_launch, launches=launches):
            return [by_launch[launch, "with"][key] / by_launch[launch, "without"][key] for launch in launches]

        limit = target(what, hosts, delay, computation)
        reached = ratios("exposed_us")
        yield [{"one": "one rank computes", "all": "all compute"}[what], mpi, f"{hosts} hosts, {delay} us",
               f"{report.size_text(size)} behind {computation} us",
               report.value([by_launch[launch, "without"]["exposed_us"] for launch in launches]),
               report.value([by_launch[launch, "with"]["exposed_us"] for launch in launches]), report.value(reached),
               report.value(ratios("learning_us")), report.value(ratios("step_us")),
               "-" if limit is None else f"<= {limit}",
               "-" if limit is None else "yes" if statistics.median(reached) <= limit else "no"]


def solver_lines(folder):
    """The time of an iteration of PETSc's pipelined conjugate gradients, from what the program printed."""
    found = {}
    for path in folder.glob("pipecg-*.*.*.*.txt"):
        what, launch, shape, _ = path.stem.split(".")
        text = path.read_text(encoding="utf-8")
        took, iterations = re.search(r"^steps took (\S+) s", text, re.M), re.search(r"^iterations (\d+)", text, re.M)
        if took and iterations:
            found[shape, int(launch), what.split("-")[1]] = 1e6 * float(took[1]) / int(iterations[1])
    for shape in sorted({shape for shape, _, _ in found}):
        launches = sorted(launch for where, launch, how in found if where == shape and how == "with" and (shape, launch, "without") in found)
        if launches:
            times = {how: [found[shape, launch, how] for launch in launches] for how in ("without", "with")}
            reached = [b / a for a, b in zip(times["without"], times["with"])]
            hosts, delay = shape.split("x1d")
            limited = int(delay) >= 20
            yield [f"{hosts} hosts, {delay} us", report.value(times["without"]), report.value(times["with"]), report.value(reached),
                   "<= 0.9" if limited else "-", "-" if not limited else "yes" if statistics.median(reached) <= 0.9 else "no"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    folder = parser.parse_args().folder
    rows = report.read(folder)
    report.print_table(["case", "MPI", "where", "call", "exposed without (us)", "with (us)", "ratio", "in the first 500 calls",
                        "of steps", "target", "met"], lines_of(rows))
    report.print_table(["pipecg on", "an iteration without (us)", "with (us)", "ratio", "target", "met"], solver_lines(folder))


if __name__ == "__main__":
    main()
