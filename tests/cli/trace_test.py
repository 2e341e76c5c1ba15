# SPDX-License-Identifier: BSD-3-Clause
"""Tests of traces that ranks and helpers write, and of `stoker trace`, which makes archives of them.

usage: trace_test.py STOKER MPIRUN MPI PROGRAM OTF2 OTF2_PRINT CLASS...
  MPIRUN: tests/rig/mpirun; MPI: mpich or openmpi; PROGRAM: trace_program.c; OTF2: whether stoker has its library, yes or no;
  OTF2_PRINT: the program, which Archives need; CLASS: of the tests below
"""

import collections
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

STOKER, PROGRAM = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[4])
MPIRUN, MPI, OTF2, OTF2_PRINT = sys.argv[2], sys.argv[3], sys.argv[5], sys.argv[6]
STEPS = 4
AHEAD = 5000  # seconds, the other clock


def run(*command, **options):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STOKER_")}
    return subprocess.run(command, capture_output=True, text=True, timeout=150, check=False,
                          env={**environment, **options.pop("variables", {})}, **options)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = str(self.folder / "trace.json")
        self.archive = str(self.folder / "archive")

    def succeed(self, *command, **options):
        result = run(*command, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def trace_run(self, *before, **settings):
        """Events of a run with helpers."""
        self.succeed(MPIRUN, MPI, "2", *before, PROGRAM, variables={
            "STOKER_TRACE": self.file, "STOKER_EXECUTOR": "engine", "STOKER_DOMAINS": "node", **settings})
        return json.loads(pathlib.Path(self.file).read_text(encoding="utf-8"))

    def trace_simulation(self):
        self.succeed(STOKER, "simulate", "alltoall", "hierarchical", "--nodes", "2", "--ppn", "4", "--domains", "2", "--bytes", "8",
                     "--progress", "helper", "--trace", self.file)
        return json.loads(pathlib.Path(self.file).read_text(encoding="utf-8"))


def by_thread(events, phase):
    found = collections.defaultdict(list)
    for event in events:
        if event["ph"] == phase:
            found[event["pid"], event["tid"]].append(event)
    return found


def names_of_threads(events):
    return {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}


def processes(events):
    return {event["pid"]: event["args"] for event in events if event["name"] == "process_name"}


class Traces(Case):
    def test_threads(self):
        events = self.trace_run(STOKER_RANKS_PER_NODE="1")
        names = names_of_threads(events)
        done = by_thread(events, "X")
        for rank in (0, 1):
            self.assertEqual([names[rank, thread] for thread in range(3)], ["rank", "helper", "requests"])
            self.assertEqual(collections.Counter(event["name"] for event in done[rank, 0]), {"step": STEPS, "start": STEPS, "wait": STEPS})
            epochs = collections.Counter(event["name"] for (pid, tid), row in done.items() if pid == rank and tid >= 2 for event in row)
            self.assertEqual(epochs, {"alltoall": STEPS, "allreduce": STEPS})
        self.assertEqual(names[0, 3], "requests 2")  # the program has two in progress there
        self.assertEqual({rank: (one["name"], one["node"], one["domain"]) for rank, one in processes(events).items()},
                         {0: ("rank 0", 0, 0), 1: ("rank 1", 1, 1)})
        for one in processes(events).values():
            self.assertGreater(len(one["host"]), 0)

    def test_events_of_a_thread_nest(self):
        for thread, events in by_thread(self.trace_run(), "X").items():
            open_until = []
            for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
                while open_until and open_until[-1] <= event["ts"]:
                    open_until.pop()
                end = event["ts"] + event["dur"]
                self.assertTrue(not open_until or end <= open_until[-1], (thread, event))
                open_until.append(end)


class Clocks(Case):
    def test_other_clocks_are_brought_to_that_of_rank_0(self):
        elsewhere = ["unshare", "--time", "--monotonic", str(AHEAD), "--fork"]
        if not shutil.which("unshare") or run(*elsewhere, "true").returncode != 0:
            self.skipTest("no time namespaces here")
        on_rank_1 = ["sh", "-c", f'if [ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = 1 ]; then exec {" ".join(elsewhere)} "$@"; fi; exec "$@"', "sh"]
        steps = [[event["ts"] for event in events if event["name"] == "step"]
                 for thread, events in sorted(by_thread(self.trace_run(*on_rank_1, STOKER_RANKS_PER_NODE="1"), "X").items()) if thread[1] == 0]
        self.assertEqual([len(one) for one in steps], [STEPS, STEPS])
        for mine, others in zip(*steps):
            self.assertLess(abs(mine - others), 60e6)  # the steps are messages apart



class Refusals(Case):
    def refused(self, *parts, arguments=None, code=1):
        result = run(STOKER, "trace", *(arguments or ["--otf2", self.archive, self.file]))
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertFalse(os.path.exists(self.archive))

    def test_files(self):
        def event(**fields):
            return json.dumps([{"name": "a", "ph": "X", "pid": 0, "tid": 0, "ts": 1, "dur": 5}, {
                "name": "b", "ph": "X", "pid": 0, "tid": 0, "ts": 7, "dur": 5, **fields}])

        for text, parts in (
            ("", ("parse error at line 1", "expected Chrome trace JSON")),
            (event()[:-1], ("parse error at line 1", "expected Chrome trace JSON")),
            (event()[:60] + "\n" + event()[61:], ("parse error at line 2",)),
            ('{"traceEvents": []}', ("no list of events", "expected Chrome trace JSON")),
            ("7", ("no list of events",)),
            ("[]", ("nothing in it", "expected Chrome trace JSON")),
            (event(args={"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1}}}}}}}}), ("event 2: expected at most 8 levels",)),
            ("[7]", ("event 1: expected an object",)),
            ("[[]]", ("event 1: expected an object",)),
            (event(name=7), ("event 2: expected a text", '"name"', "7")),
            (event(ph="B"), ("event 2: expected X, i or M", "B")),
            (event(ph="M"), ("event 2: expected an object", '"args"', "nothing")),
            (event(args=7), ("event 2: expected an object", '"args"', "7")),
            (event(ph="i"), ("event 2: expected 1 to 255 numbers",)),
            (event(ph="i", args={"why": "so"}), ("event 2: expected 1 to 255 numbers",)),
            (event(pid=-1), ("event 2: expected a whole number", '"pid"', "-1")),
            (event(tid="x"), ("event 2: expected a whole number", '"tid"', '"x"')),
            (event(dur=None), ("event 2: expected microseconds", '"dur"', "null")),
            (event(dur=-1), ("event 2: expected microseconds", '"dur"', "-1")),
            (event(ts=1e300), ("event 2: expected microseconds", '"ts"')),
            (event(ts=3), ("thread 0 of process 0", "b begins at 3000 ns, within a", "expected events of a thread that nest")),
        ):
            pathlib.Path(self.file).write_text(text, encoding="utf-8")
            self.refused(self.file, *parts)

    def test_what_is_not_there(self):
        self.refused(self.file, "No such file", "expected Chrome trace JSON")
        self.refused(str(self.folder), "a folder", "expected Chrome trace JSON", arguments=["--otf2", self.archive, str(self.folder)])
        self.refused("file is required", arguments=["--otf2", self.archive], code=106)
        self.refused("--otf2 is required", arguments=[self.file], code=106)

    def test_folders(self):
        self.trace_simulation()
        self.refused(f"--otf2 {self.folder}", "is there already", "expected the name of a folder to be made",
                     arguments=["--otf2", str(self.folder), self.file])
        self.assertEqual([path.name for path in self.folder.iterdir()], ["trace.json"])
        if OTF2 == "yes":
            self.refused("--otf2 /nonexistent/archive", "No such file", arguments=["--otf2", "/nonexistent/archive", self.file])

    @unittest.skipIf(OTF2 == "yes", "the library is there")
    def test_without_the_library(self):
        self.trace_simulation()
        self.refused("without the library of OTF2", "libotf2-trace-dev")


class Archives(Case):
    def printed(self, *files):
        self.succeed(STOKER, "trace", "--otf2", self.archive, *files)
        return self.succeed(OTF2_PRINT, "-Werror", "--show-all", f"{self.archive}/traces.otf2")

    def read(self, *files):
        """Definitions, and for each process and thread, by name, its events: (name, begin, end)."""
        text = self.printed(*files)
        locations = {number: ((group, name), int(count)) for number, name, count, group in re.findall(
            r'^LOCATION +(\d+)  Name: "(.*)" <\d+>, Type: CPU_THREAD, # Events: (\d+), Group: "(.*)" <\d+>$', text, re.M)}
        found = {name: [] for name, _ in locations.values()}
        self.assertEqual(len(found), len(locations))
        counts, times, open_ones = collections.Counter(), collections.defaultdict(list), collections.defaultdict(list)
        for kind, number, time, rest in re.findall(r"^(ENTER|LEAVE|METRIC) +(\d+) +(\d+)  (.*)$", text, re.M):
            location = locations[number][0]
            counts[number] += 1
            times[number].append(int(time))
            if kind == "METRIC":
                found[location].append((kind, int(time), int(time)))
                continue
            name = re.fullmatch(r'Region: "(.*)" <\d+>', rest).group(1)
            if kind == "ENTER":
                open_ones[number].append((name, int(time)))
            else:
                entered, begin = open_ones[number].pop()
                self.assertEqual(entered, name)
                found[location].append((name, begin, int(time)))
        self.assertEqual(sum(open_ones.values(), []), [])
        self.assertEqual(counts, collections.Counter({number: count for number, (_, count) in locations.items()}))
        for one in times.values():
            self.assertEqual(one, sorted(one))
        self.check_definitions(text, [time for one in times.values() for time in one])
        return text, found

    def check_definitions(self, text, times):
        for kind in ("STRING", "REGION", "ATTRIBUTE", "METRIC_MEMBER", "SYSTEM_TREE_NODE"):
            defined = re.findall(rf"^{kind} +\d+  (.*)$", text, re.M)
            self.assertEqual(len(defined), len(set(defined)), kind)
        self.assertIn(f"Ticks per Seconds: 1000000000, Global Offset: {min(times)}, Length: {max(times) - min(times)},", text)

    def expected(self, events):
        """What `read` finds for these events of one file."""
        names, of_process = names_of_threads(events), processes(events)
        found = {(of_process[pid]["name"], name): [] for (pid, _), name in names.items()}
        for event in events:
            if event["ph"] != "M":
                begin = round(1e3 * event["ts"])
                found[of_process[event["pid"]]["name"], names[event["pid"], event["tid"]]].append(
                    ("METRIC", begin, begin) if event["ph"] == "i" else (event["name"], begin, begin + round(1e3 * event["dur"])))
        return found

    def test_run(self):
        events = self.trace_run()
        text, found = self.read(self.file)
        expected = self.expected(events)
        self.assertEqual({thread: sorted(one) for thread, one in found.items()}, {thread: sorted(one) for thread, one in expected.items()})
        self.assertEqual(set(re.findall(r'^REGION +\d+  Name: "(.*?)"', text, re.M)), {event["name"] for event in events if event["ph"] == "X"})
        host = processes(events)[0]["host"]
        for what in ('"domain::domain 0"', f'"node::{host} (node 0)"', '"job::job"'):
            self.assertIn(f"Parent: {what}", text)
        instants = by_thread(events, "i")
        self.assertEqual(set(instants), {(0, 1)})
        for event, in instants.values():
            busy, idle = event["args"]["rounds_of_requests"]["busy"], event["args"]["rounds_of_requests"]["idle"]
            self.assertRegex(text, rf'\("rounds_of_requests.busy" <\d+>; INT64; {busy}\), \("rounds_of_requests.idle" <\d+>; INT64; {idle}\)')
            self.assertRegex(text, r'\("busy_seconds" <\d+>; DOUBLE; [\d.e-]+\)')

    def test_simulation(self):
        events = self.trace_simulation()
        text, found = self.read(self.file)

        def counted(threads):
            return {thread: collections.Counter(name for name, _, _ in one) for thread, one in threads.items()}

        self.assertEqual(counted(found), counted(self.expected(events)))
        arguments = [value for event in events if event["ph"] == "X" for value in event["args"].items()]
        attributes = re.findall(r'\("(\w+)" <\d+>; INT64; (\d+)\)', text)
        self.assertEqual(collections.Counter(attributes), collections.Counter((name, str(value)) for name, value in arguments))
        for inner, outer in (("node 0", "job::job"), ("node 1", "job::job"), ("domain 1", "node::node 0"), ("domain 2", "node::node 1"),
                             ("rank 0", "domain::domain 0"), ("rank 7", "domain::domain 3")):
            self.assertRegex(text, rf'(?m)^(SYSTEM_TREE_NODE|LOCATION_GROUP) +\d+  Name: "{inner}" <.*Parent: "{outer}"')

    def write(self, *events):
        one = {"ph": "X", "pid": 0, "tid": 0}
        pathlib.Path(self.file).write_text(json.dumps([{**one, **event} for event in events]), encoding="utf-8")

    def test_long_uptime(self):
        """Months after the start of a machine a double has no whole nanoseconds any more."""
        self.write({"name": "a", "ts": 2e13, "dur": 1.0}, {"name": "b", "ts": 2e13 + 0.998, "dur": 1.0})
        self.assertIn('"b"', self.printed(self.file))

    def test_large_numbers(self):
        self.write({"name": "a", "ts": 1, "dur": 1, "args": {"large": 2**64 - 1, "small": 2**63 - 1}})
        text = self.printed(self.file)
        self.assertRegex(text, r'"large" <\d+>; DOUBLE; 1.84467e\+19')
        self.assertRegex(text, rf'"small" <\d+>; INT64; {2**63 - 1}')

    def test_no_event(self):
        self.write({"name": "process_name", "ph": "M", "args": {"name": "rank 7"}})
        result = run(STOKER, "trace", "--otf2", self.archive, self.file)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(f"{self.file}: no event in it", result.stderr)
        self.assertFalse(os.path.exists(self.archive))
        empty = str(self.folder / "empty.json")
        os.rename(self.file, empty)
        self.trace_simulation()
        self.assertIn(f'"{empty}: rank 7"', self.printed(empty, self.file))

    def test_several_files(self):
        of_first = self.expected(self.trace_simulation())
        other = str(self.folder / "other.json")
        shutil.copy(self.file, other)
        _, found = self.read(self.file, other)
        self.assertEqual(set(found), {(f"{file}: {process}", thread) for file in (self.file, other) for process, thread in of_first})

    def test_disk_that_is_full(self):
        self.trace_simulation()
        result = run(STOKER, "trace", "--otf2", self.archive, self.file, restore_signals=False, preexec_fn=self.limit_files)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(f"--otf2 {self.archive}", result.stderr)
        self.assertFalse(os.path.exists(self.archive))

    @staticmethod
    def limit_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))


if __name__ == "__main__":
    outcome = unittest.main(argv=sys.argv[:1] + sys.argv[7:], exit=False).result
    if outcome.testsRun == len(outcome.skipped):
        print("skipped:", outcome.skipped[0][1])
        sys.exit(77)
    sys.exit(not outcome.wasSuccessful())
