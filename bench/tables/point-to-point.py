#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-point-to-point left, as a markdown table: each point with its target.

    bench/tables/point-to-point.py FOLDER

A value is the median over the launches, with the least and the most. Launches are compared with those of the same number.
"""
import argparse
import collections
import json
import pathlib
import statistics

KIB, MIB = 1 << 10, 1 << 20
WHERE = {"overlap": ("2 hosts x 1, 1 Gbit/s", 0.75), "slow": ("2 hosts x 1, slow motion", 0.93)}


def read(folder):
    """(what, mpi, point) -> alone|off|on -> launch -> row, from WHAT-HOW.LAUNCH.PLACE.MPI.json."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for path in sorted(folder.glob("*-*.*.*.*.json")):
        name, launch, _, mpi = path.stem.split(".")
        what, how = name.split("-")
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                found[(what, mpi, row.get("bytes", row.get("call")))][how][int(launch)] = row
    return found


def size_text(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def spread(numbers, digits):
    return f"{statistics.median(numbers):.{digits}f} ({min(numbers):.{digits}f} to {max(numbers):.{digits}f})"


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
                yield (f"step efficiency, {size_text(point)}", place, mpi, f">= {target}", spread(reached, 2),
                       f"without: {spread([row['efficiency'] for row in alone], 2)}; step with / without: {spread(steps, 2)}",
                       statistics.median(reached) >= target)
            else:
                more = [a["call_ns"] - b["call_ns"] for a, b in zip(ours, alone)]
                yield (f"{point}, {'on' if how == 'on' else 'off'}: ns more", "one host", mpi, "<= 20 a call", spread(more, 1),
                       f"without: {statistics.median([row['call_ns'] for row in alone]):.1f} ns",
                       statistics.median(more) <= 20 * str(point).count("MPI_"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    print("| measure | where | mpi | target | median (launches) | compared with | met |")
    print("|---|---|---|---|---|---|---|")
    for *cells, met in rows_of(read(parser.parse_args().folder)):
        print(f"| {' | '.join(cells)} | {'yes' if met else 'no'} |")


if __name__ == "__main__":
    main()
