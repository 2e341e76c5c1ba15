#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws stoker's trace (setting trace=FILE) as an SVG picture: what ranks compute, when they wait, what helpers do meanwhile,
and what the network carries.

One representative occurrence of a region is shown: that of median length, by default of the region "step". Where there is
none, so many milliseconds of the middle.
"""
import argparse
import json
import statistics

import svg

RANK, HELPER, REQUESTS = 0, 1, 2  # thread numbers in a trace; those above are requests, too
COLOURS = {"start": "#000000", "wait": "#d62728", "progress": "#ff7f0e"}
EXCHANGE = "#1f77b4"
WIRE_OUT, WIRE_IN = "#7b4fa3", "#c3a6dd"
COMPUTE = ["#2ca02c", "#17becf", "#98df8a", "#bcbd22", "#8c564b", "#9467bd"]
LANE = 34


def window_of(events, region, milliseconds):
    """Begin and end, in microseconds, of what is shown."""
    ranks = [e for e in events if e["tid"] == RANK]
    first = min(e["pid"] for e in ranks)
    own = [e for e in ranks if e["pid"] == first and e["name"] == region]
    if not own:
        middle = statistics.median(e["ts"] for e in ranks)
        return middle - 500 * milliseconds, middle + 500 * milliseconds
    length = statistics.median_low([e["dur"] for e in own])
    chosen = next(e for e in own if e["dur"] == length)
    margin = 0.02 * length
    return chosen["ts"] - margin, chosen["ts"] + length + margin


def draw_lane(picture, events, top, begin, end, colours):
    placed = [(max(e["tid"] - REQUESTS, 0), e) for e in events]
    rows = 1 + max(row for row, _ in placed)
    for row, event in placed:
        name = event["name"]
        if event["tid"] >= REQUESTS:
            colours.setdefault(name, EXCHANGE)
        elif name not in colours:
            colours[name] = COMPUTE[(len(colours) - len(COLOURS)) % len(COMPUTE)]
        left, right = max(event["ts"], begin), min(event["ts"] + event["dur"], end)
        picture.bar(1e-6 * (left - begin), 1e-6 * (right - begin), top + LANE * row / rows, 0.9 * LANE / rows, colours[name])


def draw_wire(picture, path, top, begin, end, rate):
    steps = svg.read_wire(path, 1e-6 * begin, 1e-6 * end)
    full = rate / 8 if rate else max((max(s[2:]) for s in steps), default=1)
    for lane, column, colour, words in ((0, 3, WIRE_OUT, "wire, out"), (1, 2, WIRE_IN, "wire, in")):
        y = top + lane * (LANE + 6)
        picture.curve([(s[0], s[1], min(s[column] / full, 1.1)) for s in steps], y, LANE, colour)
        picture.line(y)
        picture.label(y + LANE / 2, words)
    return 2 * (LANE + 6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", help="Chrome trace JSON written by stoker")
    parser.add_argument("picture", help="file to write, e.g. timeline.svg")
    parser.add_argument("--region", default="step")
    parser.add_argument("--milliseconds", type=float, default=60)
    parser.add_argument("--wire", nargs="*", default=[], help="for each rank what scripts/sample-wire wrote on its host")
    parser.add_argument("--gbit", type=float, help="rate of the wire, which its lanes are as high as; default: the largest")
    arguments = parser.parse_args()

    with open(arguments.trace, encoding="utf-8") as file:
        events = json.load(file)
    events = [e for e in events if e["ph"] == "X"]
    if not events:
        parser.exit(1, f"{arguments.trace}: no event in it\n")
    begin, end = window_of(events, arguments.region, arguments.milliseconds)
    seen = [e for e in events if e["ts"] < end and e["ts"] + e["dur"] > begin and e["name"] != arguments.region]

    picture = svg.Picture("Ranks, helpers and the wire, with stoker" if arguments.wire else "Ranks and helpers, with stoker",
                          1e-6 * (end - begin))
    colours = dict(COLOURS)
    top = 0
    for rank in sorted({e["pid"] for e in seen}):
        for thread, name in ((RANK, f"rank {rank}"), (HELPER, "its helper"), (REQUESTS, "exchanges under way")):
            lane = [e for e in seen if e["pid"] == rank and min(e["tid"], REQUESTS) == thread]
            if lane:
                draw_lane(picture, lane, top, begin, end, colours)
                picture.label(top + LANE / 2, name)
                top += LANE + 6
        if rank < len(arguments.wire):
            top += draw_wire(picture, arguments.wire[rank], top, begin, end, 1e9 * (arguments.gbit or 0))
        top += 14
    words = {"start": "inside Start", "wait": "inside Wait", "progress": "helper at work"}
    for name in {e["name"]: None for e in sorted(seen, key=lambda e: e["tid"])}:
        picture.legend(colours[name], words.get(name, name))
    picture.time_axis(top, "ms", 1e-3)
    picture.write(arguments.picture)
    print(arguments.picture)


if __name__ == "__main__":
    main()
