#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run-applications left, as markdown tables: what programs gained or lost; where their calls went; targets.

    bench/tables/applications.py [--calls N] FOLDER

With --calls also which calls programs made, from the summary of each program's last run: of those that the engine carried out
the N places in which the program spent most time, and all that were the MPI library's from the beginning. A ratio is that of each
pair, with the library over without; its median, least and most are printed."""
import argparse
import collections
import json
import pathlib
import statistics

import report

PLACES = {"one-host": "one host x 2", "hosts": "2 hosts x 1", "slow": "2 hosts x 1, slow motion"}
MOST = {"one-host": 1.01, "hosts": 1.02, "slow": 1.02}  # ratio that no program may exceed
MOST_MB = 10  # a rank


def read(folder):
    """Runs by program, case, place and settings; and programs that were skipped, with the reason."""
    runs, skipped = collections.defaultdict(list), {}
    for path in sorted(folder.glob("*.json")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            if "skipped" in row:
                skipped[row["program"]] = row["skipped"]
            else:
                runs[row["program"], row["case"], row["place"], row["settings"]].append(row)
    return runs, skipped


def good(run):
    return run["status"] == 0 and run["seconds"] is not None


def pairs_of(runs):
    """(without, with) of each pair that was run to the end."""
    pairs = collections.defaultdict(dict)
    for run in runs:
        pairs[run["pair"]][run["how"]] = run
    return [(pair["without"], pair["with"]) for _, pair in sorted(pairs.items())
            if len(pair) == 2 and all(map(good, pair.values()))]


def difference(without, with_it):
    """Name of an answer that differs, or nothing."""
    for name, answer in without["answers"].items():
        ours, theirs, tolerance = with_it["answers"][name]["values"], answer["values"], answer["tolerance"]
        if not theirs or len(ours) != len(theirs):
            return f"{name}: {len(theirs)} and {len(ours)} values"
        for a, b in zip(theirs, ours):
            if abs(a - b) > tolerance * max(abs(a), abs(b)):
                return f"{name}: {a:g} and {b:g}"
    return ""


def answers(runs, pairs):
    failed = [run["how"] for run in runs if not good(run)]
    if failed:
        return ", ".join(f"{how}: {failed.count(how)} failed" for how in sorted(set(failed)))
    if not any(pair[0]["answers"] for pair in pairs):
        return "none"
    return next(filter(None, (difference(*pair) for pair in pairs)), "equal")


def calls(runs):
    """How many calls of a run were the engine's, and how many of their kind MPI's, by collective and form."""
    taken, left = collections.Counter(), collections.Counter()
    for run in runs:
        for row in run.get("carried_out", []):
            kind = row["collective"] if row["form"] == "blocking" else f"{row['form']} {row['collective']}"
            mpi = round(row["calls"] * row["left"] / 100)
            taken[kind] += row["calls"] - mpi
            left[kind] += mpi
    with_it = max(1, sum("carried_out" in run for run in runs))
    return ", ".join(f"{kind} {taken[kind] / with_it:.0f} ({left[kind] / with_it:.0f})" for kind in sorted(taken)) or "none"


def megabytes(runs):
    """The mean over ranks: what one rank has more the other may have less, as programs divide their work."""
    return statistics.median(statistics.mean(run["rank_mb"]) for run in runs)


def call_lines(runs, most):
    """The calls of a program's last run with the library, by place."""
    run = next((run for run in reversed(runs) if "left" in run), None)
    if run is None:
        return
    for row in sorted(run["carried_out"], key=lambda row: -row["calls"] * row["exposed"])[:most]:
        times = [f"{row[name]:.0f}" for name in ("us", "hidden", "exposed")]
        yield [f"{row['form']} {row['collective']}", row["place"], str(row["calls"]), str(row["bytes"]), *times, f"{row['left']} %",
               row["verdict"]]
    for row in run["left"]:
        yield [f"{row['form']} {row['collective']}", "", str(row["calls"]), "", "", "", "", "100 %", row["reason"]]


def met(place, settings, ratio, more_mb, same):
    """Whether the target is met that all programs have; it is asked of the default settings only."""
    if same not in ("equal", "none"):
        return "no"
    if settings:
        return ""
    return "yes" if ratio <= MOST[place] and (place != "one-host" or more_mb <= MOST_MB) else "no"


def gained(groups):
    """Lines of the targets that the programs have together: so many of them at most at a ratio. A program counts where it gained in
    every pair, which leaves out those whose pairs were disturbed."""
    best = {}
    for (program, _, place, settings), (ratios, same) in groups.items():
        ratio = statistics.median(ratios)
        if place != "one-host" and same in ("equal", "none") and max(ratios) < 1:
            best[program] = min(best.get(program, (9, "")), (ratio, f"{PLACES[place]}, {settings or 'default settings'}"))
    for count, limit in ((1, 0.90), (2, 0.97)):
        found = sorted((ratio, program, where) for program, (ratio, where) in best.items() if ratio <= limit)
        yield [f"programs at <= {limit:.2f} between hosts", str(count),
               "; ".join(f"{program} {ratio:.3f} ({where})" for ratio, program, where in found) or "none",
               "yes" if len(found) >= count else "no"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--calls", type=int, metavar="N")
    arguments = parser.parse_args()
    runs, skipped = read(arguments.folder)
    if not runs and not skipped:
        parser.error("no results there")
    lines, call_table, groups = [], [], {}
    for (program, case, place, settings), group in sorted(runs.items()):
        pairs = pairs_of(group)
        same = answers(group, pairs)
        name = [program if case == "default" else f"{program}, {case}", PLACES[place],
                settings.replace("STOKER_", "") or "default"]
        if arguments.calls is not None:
            call_table += [name + line for line in call_lines(group, arguments.calls)]
        if not pairs:
            lines.append(name + ["-", "-", "-", same, "-", "-", "no"])
            continue
        ratios = [with_it["seconds"] / without["seconds"] for without, with_it in pairs]
        more_mb = megabytes([with_it for _, with_it in pairs]) - megabytes([without for without, _ in pairs])
        groups[program, case, place, settings] = ratios, same
        lines.append(name + [f"{statistics.median(without['seconds'] for without, _ in pairs):.1f}",
                             f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})", str(len(pairs)), same,
                             f"{more_mb:.1f}", calls(group), met(place, settings, statistics.median(ratios), more_mb, same)])
    if lines:
        report.print_table(("program", "where", "settings", "s without", "with / without (pairs)", "pairs", "answers",
                            "MB a rank more", "calls that the engine carried out (MPI's of the same places)", "met"), lines)
        report.print_table(("measure", "target", "value", "met"), list(gained(groups)))
    if call_table:
        report.print_table(("program", "where", "settings", "call", "from", "calls", "bytes", "us", "hidden", "exposed", "MPI's",
                            "verdict, or why it was left to MPI"), call_table)
    for program, reason in sorted(skipped.items()):
        print(f"skipped {program}: {reason}")


if __name__ == "__main__":
    main()
