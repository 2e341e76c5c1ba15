#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench/run-applications without its programs: what is read from a run's files, and the tables that come of it.

  applications.py BENCH    the folder bench"""
import json
import pathlib
import subprocess
import sys
import tempfile

SUMMARY = """stoker: summary of 2 ranks; calls of all, bytes and times of one on average
collective           form         communicator           calls       bytes  time (us)     hidden    exposed  MPI's  verdict      called from              algorithm
alltoall             nonblocking  (of 2 ranks)            5760      249600    10229.9     9168.6     1182.2    25%  left to MPI  PMPI_Ialltoall_f08+0xb6 (libmpi_mpifh.so.40+0x4cc56) nonblocking
allreduce            blocking     MPI COMMUNICATOR 3 DUP FROM 0  80  65536     1517.5        0.0      162.0    20%  not compared ?                        recursive-exchange:factors=2 4
barrier              blocking     MPI_COMM_WORLD             2           0     5315.8        0.0     5316.4   100%  left to MPI  hpcc+0x155d0             
calls that were the MPI library's from the beginning:
allreduce            nonblocking       1862  shorter than STOKER_PMPI_LEAST_BYTES
helper at rank 0: busy 0.070 s, idle 0.005 s, sleeping 27.566 s; 2715 busy rounds, 180160 idle
"""


def expect(good, what):
    if not good:
        print(f"FAILED: {what}", file=sys.stderr)
        sys.exit(1)


def run(*command):
    done = subprocess.run([sys.executable, *map(str, command)], text=True, capture_output=True, check=False)
    expect(done.returncode == 0, done.stderr)
    return done.stdout


def check_outcome(bench, folder):
    """Times of two ranks, numbers as Fortran writes them, a summary with names that have blanks."""
    (folder / "run.txt").write_text("energy -1.5D+01\nsteps took 2.5 s\nenergy -1.25E+01\nsteps took 3.5 s\n")
    (folder / "run.rank.0").write_text("4.50 120000\n")
    (folder / "run.rank.1").write_text("4.75 110000\n")
    options = ["--run", folder / "run", "--program", "p", "--case", "c", "--mpi", "openmpi", "--place", "hosts", "--settings", "",
               "--pair", "1", "--how", "with", "--status", "0", "--answers", "energy", r"^energy (\S+)", "1e-8"]
    row = json.loads(run(bench / "applications/outcome.py", *options, "--seconds", r"^steps took (\S+) s"))
    expect(row["seconds"] == 3.5 and row["process_seconds"] == 4.75 and row["rank_mb"] == [120.0, 110.0], row)
    expect(row["answers"] == {"energy": {"values": [-15.0, -12.5], "tolerance": 1e-8}}, row)
    expect("carried_out" not in row, "there is no summary")
    (folder / "run.summary").write_text(SUMMARY)
    row = json.loads(run(bench / "applications/outcome.py", *options, "--seconds", ""))
    expect(row["seconds"] == 4.75, "without a pattern the whole process counts")
    expect([(call["collective"], call["calls"], call["bytes"], call["left"], call["verdict"]) for call in row["carried_out"]] ==
           [("alltoall", 5760, 249600, 25, "left to MPI"), ("allreduce", 80, 65536, 20, "not compared"),
            ("barrier", 2, 0, 100, "left to MPI")], row)
    expect(row["left"] == [{"collective": "allreduce", "form": "nonblocking", "calls": 1862,
                            "reason": "shorter than STOKER_PMPI_LEAST_BYTES"}], row)


def runs(program, place, times, settings="", answer=1.0, status=0):
    """Rows of as many pairs as there are times (without, with), and of a library that takes 4 MB of one rank and 2 MB of the other."""
    for pair, both in enumerate(times, start=1):
        for how, seconds in zip(("without", "with"), both):
            row = {"program": program, "case": "default", "mpi": "openmpi", "place": place, "settings": settings, "pair": pair,
                   "how": how, "status": status if how == "with" else 0, "seconds": seconds, "process_seconds": seconds,
                   "rank_mb": [100.0, 100.0] if how == "without" else [104.0, 102.0],
                   "answers": {"norm": {"values": [1.0 if how == "without" else answer], "tolerance": 1e-6}}}
            if how == "with":
                row["carried_out"] = [{"collective": "alltoall", "form": "nonblocking", "place": "p+0x1", "calls": 100, "bytes": 4096,
                                       "us": 9.6, "hidden": 7.2, "exposed": 2.4, "left": 25, "verdict": "worth it"},
                                      {"collective": "bcast", "form": "blocking", "place": "p+0x2", "calls": 1, "bytes": 4,
                                       "us": 1.0, "hidden": 0.0, "exposed": 1.0, "left": 0, "verdict": "not compared"}]
                row["left"] = [{"collective": "scan", "form": "blocking", "calls": 2, "reason": "not asked for"}]
            yield row


def check_tables(bench, folder):
    groups = {
        "gains": runs("gains", "hosts", [(10.0, 8.0), (10.0, 9.0), (10.0, 5.0)]),
        "disturbed": runs("disturbed", "slow", [(10.0, 2.0), (10.0, 5.0), (10.0, 10.5)]),
        "blocking": runs("gains", "slow", [(10.0, 12.0)], "STOKER_PMPI_BLOCKING=1"),
        "loses": runs("loses", "one-host", [(10.0, 10.2)]),
        "differs": runs("differs", "slow", [(10.0, 10.0)], answer=1.1),
        "rounds": runs("rounds", "slow", [(10.0, 10.0)], answer=1 + 1e-8),
        "fails": runs("fails", "hosts", [(10.0, None)], status=1),
    }
    for name, rows in groups.items():
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "absent.skipped.json").write_text(json.dumps({"program": "absent", "skipped": "needs absent"}))
    output = run(bench / "tables/applications.py", "--calls", "1", folder)
    programs, targets, made = output.split("\n\n")[:3]
    lines = {tuple(cells[:3]): cells[3:] for cells in ([cell.strip() for cell in line.strip("|").split("|")]
                                                       for line in (programs + "\n" + targets).splitlines())}
    hosts, slow, one = "2 hosts x 1", "2 hosts x 1, slow motion", "one host x 2"
    calls = "bcast 1 (0), nonblocking alltoall 75 (25)"
    for key, cells in {
            ("gains", hosts, "default"): ["10.0", "0.800 (0.500 to 0.900)", "3", "equal", "3.0", calls, "yes"],
            ("gains", slow, "PMPI_BLOCKING=1"): ["10.0", "1.200 (1.200 to 1.200)", "1", "equal", "3.0", calls, ""],
            ("loses", one, "default"): ["10.0", "1.020 (1.020 to 1.020)", "1", "equal", "3.0", calls, "no"],
            ("differs", slow, "default"): ["10.0", "1.000 (1.000 to 1.000)", "1", "norm: 1 and 1.1", "3.0", calls, "no"],
            ("rounds", slow, "default"): ["10.0", "1.000 (1.000 to 1.000)", "1", "equal", "3.0", calls, "yes"],
            ("fails", hosts, "default"): ["-", "-", "-", "with: 1 failed", "-", "-", "no"],
    }.items():
        expect(lines[key] == cells, f"{key}: {lines[key]}")
    expect(lines["programs at <= 0.90 between hosts", "1", "gains 0.800 (2 hosts x 1, default settings)"] == ["yes"], output)
    expect(lines["programs at <= 0.97 between hosts", "2", "gains 0.800 (2 hosts x 1, default settings)"] == ["no"], output)
    start = "| gains | 2 hosts x 1 | default | "
    expect([line for line in made.splitlines() if line.startswith(start)] ==
           [start + "nonblocking alltoall | p+0x1 | 100 | 4096 | 10 | 7 | 2 | 25 % | worth it |",
            start + "blocking scan |  | 2 |  |  |  |  | 100 % | not asked for |"], output)
    expect("skipped absent: needs absent" in output, output)


def check_programs(bench):
    """Each program's file can be sourced, and has what it needs."""
    done = subprocess.run([bench / "run-applications", "--list"], text=True, capture_output=True, check=False)
    expect(done.returncode == 0, done.stderr)
    listed = {line.split("/")[0] for line in done.stdout.splitlines()}
    expect(listed == {path.parent.name for path in bench.glob("applications/*/program")} and len(listed) >= 9, done.stdout)


def main():
    bench = pathlib.Path(sys.argv[1]).resolve()
    for check in (check_outcome, check_tables):
        with tempfile.TemporaryDirectory() as folder:
            check(bench, pathlib.Path(folder))
    check_programs(bench)


if __name__ == "__main__":
    main()
