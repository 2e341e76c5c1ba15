#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables of what bench/run-smpi has left: the simulator's times over SMPI's. Ends with 1 where the median of their deviations
is more than 15 %.

    bench/tables/smpi.py [--markdown FILE] FOLDER
"""

import argparse
import collections
import json
import pathlib
import statistics
import sys

outlier = 0.15  # further from 1 than that


def times(path):
    """(collective, algorithm, bytes) -> seconds"""
    return {(row["collective"], row["algorithm"], row["bytes"]): row["seconds"]
            for row in map(json.loads, path.read_text().splitlines())}


def ratios(folder):
    """(machine, ranks x ppn, collective, algorithm, bytes) -> (the simulator's seconds, SMPI's)"""
    result = {}
    for path in sorted(folder.glob("*.smpi.json")):
        machine, layout, _, _ = path.name.rsplit(".", 3)
        ours = times(path.with_name(f"{machine}.{layout}.stoker.json"))
        for point, seconds in times(path).items():
            result[machine, layout, *point] = ours[point], seconds
    return result


def selectors(folder):
    """Rows: machine, layout, library, collective, bytes, the rules' choice, its seconds, those of SMPI's selector"""
    for path in sorted([*folder.glob("*.mpich.json"), *folder.glob("*.openmpi.json")]):
        machine, layout, library, _ = path.name.rsplit(".", 3)
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        theirs = {(row["collective"], row["bytes"]): row["seconds"] for row in rows if row["algorithm"] == "library"}
        for row in rows:
            if row["algorithm"] != "library":
                yield (machine, layout, library, row["collective"], row["bytes"], row["choice"], row["seconds"],
                       theirs[row["collective"], row["bytes"]])


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"


def summary(what, values):
    values = sorted(values)
    within = sum(abs(value - 1) <= outlier for value in values)
    return [what, len(values), *(f"{value:.3f}" for value in (statistics.median(values), values[0], values[-1])),
            f"{within} of {len(values)}"]


def median_deviation(points):
    return statistics.median(abs(ours / theirs - 1) for ours, theirs in points.values())


def report(points):
    all_of = collections.defaultdict(list)
    for (machine, layout, collective, algorithm, size), (ours, theirs) in points.items():
        ratio = ours / theirs
        for key in ("all points", f"machine {machine}", f"{layout} (ranks x ranks a node)", f"{size} bytes",
                    f"{collective} {algorithm}"):
            all_of[key].append(ratio)
    yield f"Median deviation: {100 * median_deviation(points):.1f} %."
    yield ""
    yield from table(["points", "number", "median ratio", "least", "largest", f"within {outlier:.0%}"],
                     [summary(what, values) for what, values in all_of.items()])
    far = [(key, ours, theirs) for key, (ours, theirs) in points.items() if abs(ours / theirs - 1) > outlier]
    yield ""
    yield f"{len(far)} outliers:" if far else "No outliers."
    if far:
        yield ""
        yield from table(["machine", "layout", "collective", "algorithm", "bytes", "simulator us", "SMPI us", "ratio"],
                         [[*key, f"{1e6 * ours:.2f}", f"{1e6 * theirs:.2f}", f"{ours / theirs:.3f}"]
                          for key, ours, theirs in sorted(far, key=lambda row: row[1] / row[2])])


def report_selectors(rows):
    ratio = [ours / theirs for *_, ours, theirs in rows]
    of_library = collections.defaultdict(list)
    for (_, _, library, collective, *_), value in zip(rows, ratio):
        of_library[f"{library} {collective}"].append(value)
    yield from table(["points", "number", "median ratio", "least", "largest", f"within {outlier:.0%}"],
                     [summary(what, values) for what, values in [("all points", ratio), *of_library.items()]])
    yield ""
    yield from table(["machine", "layout", "library", "collective", "bytes", "by the rules", "us", "by SMPI's selector us", "ratio"],
                     [[*what, f"{1e6 * ours:.2f}", f"{1e6 * theirs:.2f}", f"{ours / theirs:.3f}"]
                      for *what, ours, theirs in rows])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    arguments = parser.parse_args()
    points = ratios(arguments.folder)
    rows = list(selectors(arguments.folder))
    if not points and not rows:
        sys.exit(f"{arguments.folder}: no results")
    text = "\n".join(report(points) if points else report_selectors(rows)) + "\n"
    print(text, end="")
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if points and median_deviation(points) > outlier:
        sys.exit("the simulator and SMPI do not agree")


main()
