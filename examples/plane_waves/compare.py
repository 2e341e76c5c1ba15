#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Says in plain words what plane_waves --json FILE measured, and draws what the network carried in the first solutions."""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import svg

WORDS = {
    "mpi-blocking": "MPI, blocking",
    "mpi-nonblocking": "MPI, nonblocking",
    "mpi-nonblocking-test": "MPI, nonblocking, tests placed by hand",
    "stoker": "stoker",
    "stoker-test": "stoker, tests placed by hand",
    "stoker-inline": "stoker, no progress thread",
}
COLOURS = ["#8c8c8c", "#c58b00", "#1f77b4", "#2ca02c", "#17becf", "#9467bd"]
LANE = 70


def print_table(results):
    blocking = next((r for r in results if r["exchange"] == "mpi-blocking"), results[0])
    print(f"{'exchange':<40} {'time to solution':>17} {'speed-up':>9} {'exchange hidden':>16} {'answer':>8}")
    for r in results:
        hidden = "-"
        if r is not blocking:
            hidden = f"{max(0.0, 100 * (1 - r['exposed_ms'] / blocking['exposed_ms'])):.0f} %"
        print(f"{WORDS[r['exchange']]:<40} {r['median_ms'] / 1e3:>15.2f} s {blocking['median_ms'] / r['median_ms']:>9.2f} "
              f"{hidden:>16} {'correct' if r['correct'] else 'WRONG':>8}")
    print("\nspeed-up         blocking time to solution / this one\n"
          "exchange hidden  share of the time inside blocking exchange calls that the program does not spend there\n"
          "answer           correct: the exact eigenvalues within 1e-8, and equal for all exchanges within 1e-10")


def draw_wire(results, wire, gbit, picture_file):
    ends = [r["first_began_s"] + r["first_ms"] / 1e3 for r in results]
    longest = max(end - r["first_began_s"] for r, end in zip(results, ends))
    picture = svg.Picture(f"What host 1 sends until the solution is there; dashed: the wire's {gbit:g} Gbit/s", 1.02 * longest)
    for i, (r, end) in enumerate(zip(results, ends)):
        top = i * (LANE + 24)
        begin = r["first_began_s"]
        steps = svg.read_wire(wire, begin, end, longest / 200)
        picture.curve([(s[0], s[1], min(8 * s[3] / (1e9 * gbit), 1.05)) for s in steps], top, LANE, COLOURS[i])
        picture.line(top, 0, end - begin)
        picture.label(top + LANE / 2 - 6, "\n".join(WORDS[r["exchange"]].rsplit(", ", 1)))
        picture.text((end - begin) * picture.scale - 6, top - 5, f"{end - begin:.1f} s", anchor="end")
    picture.time_axis(len(results) * (LANE + 24), "s", 1)
    picture.write(picture_file)
    print(picture_file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", help="written by plane_waves --json")
    parser.add_argument("--wire", help="written by scripts/sample-wire meanwhile")
    parser.add_argument("--gbit", type=float, default=1, help="rate of the wire")
    parser.add_argument("--picture", help="of the wire, to write")
    arguments = parser.parse_args()
    with open(arguments.results, encoding="utf-8") as file:
        results = [json.loads(line) for line in file]
    if arguments.picture:
        draw_wire(results, arguments.wire, arguments.gbit, arguments.picture)
    else:
        print_table(results)
    return 0 if all(r["correct"] for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
