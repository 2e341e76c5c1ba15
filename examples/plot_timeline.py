#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws stoker's trace (setting trace=FILE) as a picture: what ranks compute, when they wait, and what helpers do meanwhile.

One representative occurrence of a region is shown: that of median length, by default of the region "step".
"""
import argparse
import json
import statistics

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RANK, HELPER, REQUESTS = 0, 1, 2  # thread numbers in a trace
COLOURS = {"start": "#000000", "wait": "#d62728", "progress": "#ff7f0e"}
EXCHANGE = "#1f77b4"
COMPUTE = ["#2ca02c", "#17becf", "#98df8a", "#bcbd22", "#8c564b", "#9467bd"]


def window_of(events, region):
    """Begin and end of the occurrence of median length on the lowest rank; of everything where there is none."""
    ranks = [e for e in events if e["tid"] == RANK and e["name"] == region]
    if not ranks:
        return min(e["ts"] for e in events), max(e["ts"] + e["dur"] for e in events)
    first = min(e["pid"] for e in ranks)
    own = [e for e in ranks if e["pid"] == first]
    length = statistics.median_low([e["dur"] for e in own])
    chosen = next(e for e in own if e["dur"] == length)
    margin = 0.02 * length
    return chosen["ts"] - margin, chosen["ts"] + length + margin


def rows_for(events):
    """Events that overlap go to rows of their own."""
    ends = []
    for event in sorted(events, key=lambda e: e["ts"]):
        row = next((i for i, end in enumerate(ends) if end <= event["ts"]), len(ends))
        if row == len(ends):
            ends.append(0)
        ends[row] = event["ts"] + event["dur"]
        yield row, event


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", help="Chrome trace JSON written by stoker")
    parser.add_argument("picture", help="file to write, e.g. timeline.png")
    parser.add_argument("--region", default="step")
    arguments = parser.parse_args()

    with open(arguments.trace, encoding="utf-8") as file:
        events = json.load(file)
    events = [e for e in events if e["ph"] == "X"]
    if not events:
        parser.exit(1, f"{arguments.trace}: no event in it\n")
    begin, end = window_of(events, arguments.region)
    seen = [e for e in events if e["ts"] < end and e["ts"] + e["dur"] > begin and e["name"] != arguments.region]

    figure, axes = plt.subplots(figsize=(12, 0.9 * len({e["pid"] for e in seen}) * 3 + 1), layout="constrained")
    colours = dict(COLOURS)
    legend = {}
    labels = []
    lane_top = 0.0
    for rank in sorted({e["pid"] for e in seen}):
        for thread, name in ((RANK, f"rank {rank}"), (HELPER, "helper"), (REQUESTS, "exchanges\nunder way")):
            lane = [e for e in seen if e["pid"] == rank and e["tid"] == thread]
            if not lane:
                continue
            placed = list(rows_for(lane)) if thread == REQUESTS else [(0, e) for e in lane]
            rows = 1 + max(row for row, _ in placed)
            for row, event in placed:
                if thread == REQUESTS:
                    colour = EXCHANGE
                elif event["name"] not in colours:
                    colour = colours[event["name"]] = COMPUTE[(len(colours) - len(COLOURS)) % len(COMPUTE)]
                else:
                    colour = colours[event["name"]]
                left = max(event["ts"], begin)
                right = min(event["ts"] + event["dur"], end)
                bar = axes.broken_barh([((left - begin) / 1e3, (right - left) / 1e3)],
                                       (-lane_top - (row + 1) / rows, 0.92 / rows), color=colour, linewidth=0)
                legend.setdefault(event["name"], bar)
            labels.append((-lane_top - 0.5, name))
            lane_top += 1.15
        lane_top += 0.35
    axes.set(xlabel="time in ms", xlim=(0, (end - begin) / 1e3))
    axes.set_yticks([y for y, _ in labels], [name for _, name in labels])
    axes.legend(legend.values(), legend.keys(), loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(legend), frameon=False)
    figure.savefig(arguments.picture, dpi=120)
    print(arguments.picture)


if __name__ == "__main__":
    main()
