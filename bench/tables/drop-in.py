#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-drop-in left, as a markdown table: each point with its target.

    bench/tables/drop-in.py FOLDER

A value is the median over the launches, with the least and the most. Launches with and without the library are compared with
those of the same number.
"""
import argparse
import collections
import json
import pathlib
import statistics

KIB, MIB = 1 << 10, 1 << 20
PLACES = {"1x1": "one host", "1x2": "one host x 2", "2x1": "2 hosts x 1, 1 Gbit/s"}


def read(folder):
    """(what, place, mpi, point) -> with|without|untried -> launch -> row, from WHAT-HOW.LAUNCH.PLACE.MPI.json."""
    found = collections.defaultdict(lambda: {"with": {}, "without": {}, "untried": {}})
    for path in sorted(folder.glob("*-*.*.*.*.json")):
        name, launch, place, mpi = path.stem.split(".")
        what, how = name.split("-")
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                point = (row.get("collective", ""), row.get("bytes", 0), row.get("call", ""))
                found[(what, place, mpi, point)][how][int(launch)] = row
    return found


def size_text(size):
    if size < KIB:
        return f"{size} B"
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def spread(numbers, digits):
    return f"{statistics.median(numbers):.{digits}f} ({min(numbers):.{digits}f} to {max(numbers):.{digits}f})"


def rows_of(found):
    for (what, place, mpi, (collective, size, call)), pair in sorted(found.items()):
        both = sorted(set(pair["with"]) & set(pair["without"]))
        if not both:
            continue

        def each(how, key, pair=pair, both=both):
            return [pair[how][launch][key] for launch in both]

        if what == "overlap":
            limit = 0.88 if collective == "alltoall" else 0.85
            for kind, name in (("clock", "computation by the clock, as OSU's"), ("work", "computation by its amount")):
                reached = each("with", f"{kind}_efficiency")
                yield (f"efficiency, {name}: MPI_I{collective}, {size_text(size)}", PLACES[place], mpi, f">= {limit}",
                       spread(reached, 2), f"without: {spread(each('without', f'{kind}_efficiency'), 2)}",
                       statistics.median(reached) >= limit)
        elif what == "blocking":
            ratios = [w / o for w, o in zip(each("with", "step_us"), each("without", "step_us"))]
            yield ("step of an application that gains nothing, with / without", PLACES[place], mpi, "<= 1.02", spread(ratios, 3),
                   f"without: {statistics.median(each('without', 'step_us')):.2f} us", statistics.median(ratios) <= 1.02)
        elif what == "persistent":
            ratios = [w / o for w, o in zip(each("with", "call_us"), each("without", "call_us"))]
            untried = [pair["untried"][launch]["call_us"] / pair["without"][launch]["call_us"]
                       for launch in both if launch in pair["untried"]]
            yield (f"persistent {collective}, {size_text(size)}, waited for at once, with / without", PLACES[place], mpi, "<= 1.02",
                   spread(ratios, 2), f"without: {statistics.median(each('without', 'call_us')):.2f} us"
                   + (f"; ratio with none tried: {spread(untried, 2)}" if untried else ""),
                   statistics.median(ratios) <= 1.02)
        else:
            more = [w - o for w, o in zip(each("with", "call_ns"), each("without", "call_ns"))]
            yield (f"{call}, falling back: ns more", PLACES[place], mpi, "<= 50", spread(more, 1),
                   f"without: {statistics.median(each('without', 'call_ns')):.1f} ns", statistics.median(more) <= 50)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    print("| measure | where | mpi | target | median (launches) | compared with | met |")
    print("|---|---|---|---|---|---|---|")
    for *cells, met in rows_of(read(parser.parse_args().folder)):
        print(f"| {' | '.join(cells)} | {'yes' if met else 'no'} |")


if __name__ == "__main__":
    main()
