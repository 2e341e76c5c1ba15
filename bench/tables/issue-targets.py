#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of measure, target, value, met, from the JSON lines that bench/run-issue-targets left.

    bench/tables/issue-targets.py FOLDER [--detail]     also writes FOLDER/targets.json, one object a line
    bench/tables/issue-targets.py --share FILE          share of the exchange in taylor_green's blocking step

A value is the median over the launches at each point (collective, size, kernel, ...); of several points that one target
covers, the worst counts.
"""
import argparse
import collections
import dataclasses
import json
import pathlib
import statistics
import typing

KIB, MIB = 1 << 10, 1 << 20


@dataclasses.dataclass
class Target:
    measure: str
    where: str
    files: str  # FOLDER/<files>.<mpi>.<repeat>.json
    chosen: typing.Callable  # rows that it is about
    value: typing.Callable
    limit: float
    unit: str = ""
    at_least: bool = False
    possible: float = float("inf")  # a better value than any can be shows that the machine was disturbed
    beside: typing.Optional[typing.Callable] = None  # rows of the MPI library to show beside ours

    def met(self, value):
        return self.limit <= value <= self.possible if self.at_least else value <= self.limit

    def text(self, value):
        return f"{value:.3g}{self.unit}"


def executor(name, least=0, most=float("inf")):
    return lambda row: row["executor"] == name and least <= row["bytes"] <= most


def call(executor_name, name, *conditions):
    return lambda row: (row["executor"] == executor_name and row["call"] == name and row["condition"] in conditions)


def field(name, factor=1.0):
    return lambda row: row[name] * factor


CLUSTER = "2 hosts x 1, 1 Gbit/s"
HOST = "one host x 2"
TARGETS = [
    Target("overlap efficiency, 1 MiB and 4 MiB", CLUSTER, "overlap", executor("engine", MIB), field("efficiency"),
           0.90, at_least=True, possible=1.05, beside=executor("mpi-nonblocking", MIB)),
    Target("overlap efficiency, 64 KiB and 256 KiB", CLUSTER, "overlap", executor("engine", 64 * KIB, 256 * KIB),
           field("efficiency"), 0.85, at_least=True, possible=1.05,
           beside=executor("mpi-nonblocking", 64 * KIB, 256 * KIB)),
    Target("Start+Wait / blocking, >= 64 KiB", CLUSTER, "latency", executor("engine", 64 * KIB), field("ratio"), 1.15,
           beside=executor("mpi-persistent", 64 * KIB)),
    Target("Start+Wait / blocking, 8 B and 4 KiB", CLUSTER, "latency", executor("engine", 0, 4 * KIB), field("ratio"),
           2.0, beside=executor("mpi-persistent", 0, 4 * KIB)),
    Target("Start+Wait / blocking, inline, 8 B to 2 MiB", HOST, "inline", executor("inline"), field("ratio"), 1.2,
           beside=executor("mpi-persistent")),
    Target("Start, helper awake", HOST, "call-cost", call("engine", "start", "awake"), field("median_us"), 0.3, " us",
           beside=call("mpi-persistent", "start", "awake")),
    Target("Start, helper asleep", HOST, "call-cost", call("engine", "start", "asleep"), field("median_us"), 5.0, " us",
           beside=call("mpi-persistent", "start", "asleep")),
    *(Target(measure, HOST, "call-cost", call("engine", "test", condition), field("median_us"), 0.1, " us",
             beside=call("mpi-persistent", "test", condition))
      for measure, condition in (("Test, not yet complete", "active"), ("Test, the completing one of a loop", "polled"),
                                 ("Test, complete since long", "complete"))),
    Target("helper CPU with nothing active, 5 s", HOST, "idle", lambda row: row["measure"] == "helper-cpu",
           field("ratio", 100), 0.1, " %"),
    Target("kernel slowed by an idle engine", HOST, "idle",
           lambda row: row["measure"] == "slow-down" and row["condition"] == "idle",
           lambda row: (row["ratio"] - 1) * 100, 1.0, " %"),
    Target("Taylor-Green step / best MPI variant", CLUSTER, "taylor-green", lambda row: row["exchange"] == "stoker",
           field("ratio"), 0.75),
]


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def point_of(row):
    parts = (row.get(key) for key in ("collective", "bytes", "kernel", "call", "condition", "n"))
    return " ".join(str(part) for part in parts if part is not None)


def medians(launches, chosen, value):
    """{point: (median over the launches, least, most, launches)}"""
    values = collections.defaultdict(list)
    for rows in launches:
        for row in filter(chosen, rows):
            values[point_of(row)].append(value(row))
    return {point: (statistics.median(v), min(v), max(v), len(v)) for point, v in values.items()}


def worst(points, at_least):
    return (min if at_least else max)(points.items(), key=lambda item: item[1][0])


def judge(folder, target, mpi):
    launches = [read(path) for path in sorted(folder.glob(f"{target.files}.{mpi}.*.json"))]
    points = medians(launches, target.chosen, target.value)
    if not points:
        return None
    point, (value, least, most, count) = worst(points, target.at_least)
    theirs = medians(launches, target.beside, target.value) if target.beside else {}
    return {
        "measure": target.measure, "where": target.where, "mpi": mpi,
        "target": (">= " if target.at_least else "<= ") + target.text(target.limit),
        "value": value, "text": target.text(value), "met": all(target.met(v[0]) for v in points.values()),
        "worst_at": point,
        "disturbed": any(v[0] > target.possible for v in points.values()),
        "least": least, "most": most, "launches": count,
        "mpi_value": worst(theirs, target.at_least)[1][0] if theirs else None,
        "mpi_text": target.text(worst(theirs, target.at_least)[1][0]) if theirs else "-",
        "points": {p: {"median": v[0], "least": v[1], "most": v[2], "met": target.met(v[0])}
                   for p, v in points.items()},
    }


def print_table(results, detail):
    print(f"{'measure':<44} {'where':<22} {'mpi':<8} {'target':>9} {'value':>9} {'met':<4} {'MPI':>9}  "
          "worst at (launches, least to most)")
    for r in results:
        print(f"{r['measure']:<44} {r['where']:<22} {r['mpi']:<8} {r['target']:>9} {r['text']:>9} "
              f"{'yes' if r['met'] else 'NO':<4} {r['mpi_text']:>9}  {r['worst_at']} "
              f"({r['launches']}, {r['least']:.3g} to {r['most']:.3g})"
              + (" DISTURBED: values above the physical limit" if r["disturbed"] else ""))
        if detail:
            for point, v in sorted(r["points"].items()):
                print(f"    {'' if v['met'] else 'NO':<3} {v['median']:.3g} ({v['least']:.3g} to {v['most']:.3g}) "
                      f"{point}")
    print("MPI: the library's own call, nonblocking for overlap and persistent elsewhere, at its worst point")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--detail", action="store_true", help="every point, not only the worst")
    parser.add_argument("--share", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.share:
        (row,) = [row for row in read(arguments.share) if row["exchange"] == "mpi-blocking"]
        print(f"{row['exposed_ms'] / row['median_ms']:.3f}")
        return
    if arguments.folder is None:
        parser.error("which folder?")
    results = []
    for target in TARGETS:
        for mpi in ("mpich", "openmpi"):
            result = judge(arguments.folder, target, mpi)
            if result:
                results.append(result)
            else:
                print(f"not measured: {target.measure}, {mpi}")
    with open(arguments.folder / "targets.json", "w", encoding="utf-8") as out:
        for result in results:
            out.write(json.dumps(result) + "\n")
    print_table(results, arguments.detail)


if __name__ == "__main__":
    main()
