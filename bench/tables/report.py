# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts here have in common: rows of several launches, values over launches, and tables in markdown."""
import argparse
import collections
import json
import pathlib
import statistics

KIB, MIB = 1 << 10, 1 << 20


def value(numbers):
    return f"{statistics.median(numbers):.3g} ({min(numbers):.3g} to {max(numbers):.3g})"


def spread(numbers, digits):
    return f"{statistics.median(numbers):.{digits}f} ({min(numbers):.{digits}f} to {max(numbers):.{digits}f})"


def print_table(header, lines):
    for line in (header, *lines):
        print("| " + " | ".join(line) + " |")
        if line is header:
            print("|" + "---|" * len(header))
    print()


def print_points(description, points_of):
    """The command line of a script: points with their targets, of the folder that is named. Each ends with whether it is met."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    points = points_of(parser.parse_args().folder)
    print_table(["measure", "where", "mpi", "target", "median (launches)", "compared with", "met"],
                [[*cells, "yes" if met else "no"] for *cells, met in points])


def read(folder):
    """All rows, with what their files are called: WHAT.LAUNCH.SHAPE.MPI.json."""
    rows = []
    for path in sorted(folder.glob("*.*.*.*.json")):
        what, launch, shape, mpi = path.stem.split(".")
        with open(path, encoding="utf-8") as lines:
            rows += [{**json.loads(line), "what": what, "launch": int(launch), "shape": shape, "mpi": mpi}
                     for line in lines if line.strip()]
    return rows


def grouped(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def by_launch(rows):
    """The time of the first row of each launch: the algorithm that stoker is asked for first."""
    return {launch: group[0]["median_us"] for launch, group in grouped(rows, lambda row: row["launch"]).items()}


def size_text(size):
    for unit, factor in (("MiB", MIB), ("KiB", KIB)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size} B"
