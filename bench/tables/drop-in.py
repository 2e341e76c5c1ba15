#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-drop-in left, as a markdown table: each point with its target.

    bench/tables/drop-in.py FOLDER

A value is the median over the launches, with the least and the most. Launches with and without the library are compared with
those of the same number.
"""
import collections
import statistics

import report

PLACES = {"1x1": "one host", "1x2": "one host x 2", "2x1": "2 hosts x 1, 1 Gbit/s"}


def read(folder):
    """(what, place, mpi, point) -> with|without|untried -> launch -> row, from WHAT-HOW.LAUNCH.PLACE.MPI.json."""
    found = collections.defaultdict(lambda: {"with": {}, "without": {}, "untried": {}})
    for row in report.read(folder):
        what, how = row["what"].split("-")
        point = (row.get("collective", ""), row.get("bytes", 0), row.get("call", ""))
        found[(what, row["shape"], row["mpi"], point)][how][row["launch"]] = row
    return found


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
                yield (f"efficiency, {name}: MPI_I{collective}, {report.size_text(size)}", PLACES[place], mpi, f">= {limit}",
                       report.spread(reached, 2), f"without: {report.spread(each('without', f'{kind}_efficiency'), 2)}",
                       statistics.median(reached) >= limit)
        elif what == "blocking":
            ratios = [w / o for w, o in zip(each("with", "step_us"), each("without", "step_us"))]
            yield ("step of an application that gains nothing, with / without", PLACES[place], mpi, "<= 1.02", report.spread(ratios, 3),
                   f"without: {statistics.median(each('without', 'step_us')):.2f} us", statistics.median(ratios) <= 1.02)
        elif what == "persistent":
            ratios = [w / o for w, o in zip(each("with", "call_us"), each("without", "call_us"))]
            untried = [pair["untried"][launch]["call_us"] / pair["without"][launch]["call_us"]
                       for launch in both if launch in pair["untried"]]
            yield (f"persistent {collective}, {report.size_text(size)}, waited for at once, with / without", PLACES[place], mpi, "<= 1.02",
                   report.spread(ratios, 2), f"without: {statistics.median(each('without', 'call_us')):.2f} us"
                   + (f"; ratio with none tried: {report.spread(untried, 2)}" if untried else ""),
                   statistics.median(ratios) <= 1.02)
        elif what == "learning":
            name = f"MPI_{collective.capitalize()}, {report.size_text(size)}, STOKER_PMPI_BLOCKING=1"
            engine = [pair["untried"][launch]["call_us"] for launch in both if launch in pair["untried"]]
            better = min([statistics.median(each("without", "call_us")), *([statistics.median(engine)] if engine else [])])
            ratios = [w / better for w in each("with", "call_us")]
            yield (f"{name}: after 100 calls, with / the better of MPI library and engine", PLACES[place], mpi, "<= 1.05", report.spread(ratios, 2),
                   f"without: {statistics.median(each('without', 'call_us')):.2f} us"
                   + (f"; engine: {statistics.median(engine):.2f} us" if engine else ""),
                   statistics.median(ratios) <= 1.05)
            ratios = [w / o for w, o in zip(each("with", "first_mean_us"), each("without", "first_mean_us"))]
            yield (f"{name}: the first 100 calls, with / without", PLACES[place], mpi, "<= 1.05", report.spread(ratios, 2),
                   f"without: {statistics.median(each('without', 'first_mean_us')):.2f} us each", statistics.median(ratios) <= 1.05)
        else:
            more = [w - o for w, o in zip(each("with", "call_ns"), each("without", "call_ns"))]
            yield (f"{call}, falling back: ns more", PLACES[place], mpi, "<= 50", report.spread(more, 1),
                   f"without: {statistics.median(each('without', 'call_ns')):.1f} ns", statistics.median(more) <= 50)


if __name__ == "__main__":
    report.print_points(__doc__, lambda folder: rows_of(read(folder)))
