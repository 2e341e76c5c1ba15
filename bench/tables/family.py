#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-family left, as tables: for each place, executor and size the best of the family and the default choice, as
ratios to the MPI library's blocking call, and the best against the time that the wire needs.

    bench/tables/family.py FOLDER [--rate BITS_PER_SECOND]
"""
import argparse
import json
import pathlib


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def wire_us(row, rate):
    """What leaves a host, at the rate of its link; nothing on one host."""
    ranks = row["nodes"] * row["ppn"]
    return row["ppn"] * (ranks - row["ppn"]) * row["bytes"] * 8 / rate * 1e6


def best_rows(rows):
    """(bytes, executor): rows of the family, the fastest first."""
    points = {}
    for row in rows:
        if row["algorithm"] != "mpi":
            points.setdefault((row["bytes"], row["executor"]), []).append(row)
    return {point: sorted(family, key=lambda row: row["median_us"]) for point, family in sorted(points.items())}


def print_family(rows, rate):
    print(f"{'bytes':>8} {'executor':<8} {'MPI us':>10} {'best/MPI':>8} {'default':>8} {'best/wire':>9} {'init/call':>9}  best"
          f"{'':<32} default")
    for (size, executor), family in best_rows(rows).items():
        best = family[0]
        # the first algorithm that run-family asks for is auto
        default = next(row for row in rows if (row["bytes"], row["executor"]) == (size, executor))
        wire = wire_us(best, rate)
        print(f"{size:>8} {executor:<8} {best['baseline_us']:>10.1f} {best['ratio']:>8.3f} "
              f"{default['ratio']:>8.3f} "
              f"{best['median_us'] / wire if wire else float('nan'):>9.3f} "
              f"{best['init_us'] / best['baseline_us']:>9.1f}  {best['algorithm']:<36} "
              f"{default['algorithm']}")


def print_overlap(rows):
    print(f"{'bytes':>8} {'kernel':<10} {'engine':>8} {'MPI nonblocking':>16} {'MPI blocking':>13}   efficiency of the step")
    points = {}
    for row in rows:
        points.setdefault((row["bytes"], row["kernel"]), {})[row["executor"]] = row["efficiency"]
    for (size, kernel), by in sorted(points.items()):
        print(f"{size:>8} {kernel:<10} {by['engine']:>8.3f} {by['mpi-nonblocking']:>16.3f} {by['mpi-blocking']:>13.3f}")


def print_fft(rows):
    print(f"{'numbers':>10} {'executor':<13} {'algorithm':<22} {'fft us':>11} {'transposes us':>14} {'fft/MPI':>8}")
    for row in rows:
        print(f"{row['numbers']:>10} {row['executor']:<13} {row['algorithm']:<22} {row['median_us']:>11.1f} "
              f"{row['transposes_us']:>14.1f} {row['ratio']:>8.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rate", type=float, default=1e9, help="of a host's link, bits per second (%(default)g)")
    arguments = parser.parse_args()
    for path in sorted(arguments.folder.glob("*.json")):
        rows = read(path)
        if not rows:
            continue
        print(f"\n{path.stem}: {rows[0]['nodes']} nodes, {rows[0]['ppn']} ranks on each, {rows[0]['mpi']}")
        if rows[0]["benchmark"] == "overlap":
            print_overlap(rows)
        elif rows[0]["benchmark"] == "fft":
            print_fft(rows)
        else:
            print_family(rows, arguments.rate)


if __name__ == "__main__":
    main()
