#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-simulated left, as a table: simulated over measured time of each algorithm, and how many points of each shape
are within 20 %.

    bench/tables/simulated.py FOLDER
"""
import json
import pathlib
import statistics
import sys

WITHIN = 0.2


def family(algorithm):
    """Without parameters, which one side writes out and the other may not."""
    return algorithm.split(":")[0]


def measured(path):
    """(algorithm, bytes): median microseconds."""
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return {(family(row["algorithm"]), row["bytes"]): row["median_us"] for row in rows if row["algorithm"] != "mpi"}


def simulated(path):
    result = {}
    for row in json.loads(path.read_text())["rows"]:
        for point in row["sizes"]:
            result[family(row["algorithm"]), point["bytes"]] = point["seconds"] * 1e6
    return result


def table(shape, real, model):
    points = sorted(real.keys() & model.keys())
    if not points:
        raise SystemExit(f"{shape}: no algorithm and size has both a measured and a simulated time")
    sizes = sorted({size for _, size in points})
    algorithms = sorted({algorithm for algorithm, _ in points})
    width = max(map(len, algorithms))
    print(f"\n{shape}: simulated / measured\n{'':<{width}}" + "".join(f" {size:>9}" for size in sizes))
    for algorithm in algorithms:
        cells = [f"{model[algorithm, size] / real[algorithm, size]:9.2f}" if (algorithm, size) in points else " " * 9 for size in sizes]
        print(f"{algorithm:<{width}} " + " ".join(cells))
    ratios = [model[point] / real[point] for point in points]
    near = sum(abs(ratio - 1) <= WITHIN for ratio in ratios)
    print(f"median {statistics.median(ratios):.2f}, {near} of {len(ratios)} points within {WITHIN:.0%}")
    print("median by size: " + ", ".join(
        f"{size} B {statistics.median(model[p] / real[p] for p in points if p[1] == size):.2f}" for size in sizes))


def main():
    folder = pathlib.Path(sys.argv[1])
    shapes = sorted(folder.glob("simulated.*.json"))
    if not shapes:
        raise SystemExit(f"{folder}: nothing of bench/run-simulated is there")
    for path in shapes:
        shape = path.name.split(".")[1]
        for real in folder.glob(f"alltoall.{shape}.*.json"):
            table(real.stem.removeprefix("alltoall."), measured(real), simulated(path))


main()
