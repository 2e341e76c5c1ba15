#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""One run of bench/run-applications as a line of JSON: time, memory, answers, and what the drop-in library's summary says.

The run's files are RUN.txt (output), RUN.rank.N (seconds and KiB of rank N) and RUN.summary."""
import argparse
import json
import pathlib
import re

CARRIED_OUT = re.compile(r"^(?P<collective>\S+) +(?P<form>blocking|nonblocking|persistent) +(?P<communicator>.*?) +(?P<calls>\d+) +"
                         r"(?P<bytes>\d+) +(?P<us>[\d.]+) +(?P<hidden>[\d.]+) +(?P<exposed>[\d.]+) +(?P<left>\d+)% +"
                         r"(?P<verdict>\S.*?) +(?P<place>\?|\S+\+0x[0-9a-f]+(?: \(\S+\))?) *(?P<algorithm>.*)$", re.MULTILINE)
LEFT = re.compile(r"^(?P<collective>\S+) +(?P<form>blocking|nonblocking|persistent) +(?P<calls>\d+)  (?P<reason>.*)$", re.MULTILINE)


def numbers(text):
    """As a dictionary's values: those that are numbers become such."""
    return {key: float(value) if re.fullmatch(r"\d+\.\d+", value) else int(value) if value.isdigit() else value
            for key, value in text.items()}


def answers_of(output, wanted):
    """Values of all matches by name, with the difference that is allowed."""
    found = {}
    for name, pattern, tolerance in zip(wanted[::3], wanted[1::3], wanted[2::3]):
        values = [float(re.sub("[dD]", "e", match[1])) for match in re.finditer(pattern, output, re.MULTILINE)]
        found[name] = {"values": values, "tolerance": float(tolerance)}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("program", "case", "mpi", "place", "settings", "how", "seconds"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("pair", "status"):
        parser.add_argument(f"--{name}", required=True, type=int)
    parser.add_argument("--run", required=True, type=pathlib.Path)
    parser.add_argument("--answers", nargs="*", default=[])
    arguments = parser.parse_args()
    row = {name: getattr(arguments, name) for name in ("program", "case", "mpi", "place", "settings", "pair", "how", "status")}
    run = arguments.run
    output = run.with_name(run.name + ".txt").read_text(encoding="utf-8", errors="replace")
    ranks = [path.read_text(encoding="utf-8").split() for path in sorted(run.parent.glob(run.name + ".rank.*"))]
    ranks = [rank for rank in ranks if rank]  # others were killed
    row["process_seconds"] = max((float(rank[0]) for rank in ranks), default=None)
    row["rank_mb"] = [round(int(rank[1]) / 1000, 1) for rank in ranks]
    printed = re.findall(arguments.seconds, output, re.MULTILINE) if arguments.seconds else []
    row["seconds"] = float(printed[-1]) if printed else None if arguments.seconds else row["process_seconds"]
    row["answers"] = answers_of(output, arguments.answers)
    summary = run.with_name(run.name + ".summary")
    if summary.exists():
        text = summary.read_text(encoding="utf-8")
        row["carried_out"] = [numbers(match.groupdict()) for match in CARRIED_OUT.finditer(text)]
        row["left"] = [numbers(match.groupdict()) for match in LEFT.finditer(text)]
    print(json.dumps(row))


if __name__ == "__main__":
    main()
