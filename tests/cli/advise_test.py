# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `stoker advise`: what it counts, where, and what it says of known programs. Of times only what must hold in every run.

usage: advise_test.py STOKER DROP_IN LIBRARY_FOLDER MPIRUN MPI    as run_test.py
"""

import collections
import ctypes.util
import json
import subprocess
import sys
import unittest

import run_test
from run_test import HERE, MPI, PYTHON

RANKS, STEPS, LONG, SHORT = 2, 5, 65536, 32  # those of advise_program.c, in bytes
HAS_LIBDW = ctypes.util.find_library("dw") is not None
SOON = 1e-6  # sums of shares differ by rounding


class Case(run_test.Case):
    COMMAND, SOURCE = "advise", HERE / "advise_program.c"

    def advice(self, *words, options=(), **settings):
        file = self.folder / "advice.json"
        file.unlink(missing_ok=True)
        self.succeed("--summary", "advice.json", *options, "--", *words, ranks=RANKS, **settings)
        return json.loads(file.read_text())


class KnownProgram(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.report = cls().advice("./program")

    def runTest(self):
        """Only so that setUpClass can make one."""

    def rows(self, function, plan):
        return [row for row in self.report["calls"] if (row["function"], row["plan"]) == (function, plan)]

    def row(self, function, plan):
        row, = self.rows(function, plan)
        return row

    def expect(self, row, calls, number_of_bytes, site):
        self.assertEqual((row["calls"], row["bytes"]), (RANKS * calls, RANKS * calls * number_of_bytes), row)
        self.assertEqual(len(row["called_from"]), 1, row)
        if HAS_LIBDW:
            self.assertRegex(row["called_from"][0], rf"^{site} \(advise_program\.c:\d+\)$")

    def test_every_place_has_a_line_and_no_other(self):
        found = collections.Counter((row["function"], row["form"], row["plan"]) for row in self.report["calls"])
        self.assertEqual(found, {
            ("MPI_Ialltoall", "nonblocking", "by default"): 1,
            ("MPI_Iallreduce", "nonblocking", "by default"): 1,
            ("MPI_Iallreduce", "nonblocking", "if overlapped"): 1,
            ("MPI_Iallreduce", "nonblocking", "left to MPI"): 1,
            ("MPI_Ibcast", "nonblocking", "by default"): 1,
            ("MPI_Allreduce", "blocking", "with --blocking"): 1,
            ("MPI_Allreduce", "blocking", "left to MPI"): 1,
            ("MPI_Allgather", "blocking", "left to MPI"): 1,
            ("MPI_Irecv", "nonblocking", "with --p2p"): 2,
            ("MPI_Irecv", "nonblocking", "left to MPI"): 2,
            ("MPI_Isend", "nonblocking", "with --p2p"): 2,
            ("MPI_Isend", "nonblocking", "left to MPI"): 2,
            ("MPI_Recv_init", "persistent", "with --p2p"): 1,
            ("MPI_Send_init", "persistent", "with --p2p"): 1,
            ("MPI_Ineighbor_alltoall", "nonblocking", "by default"): 1,
            ("MPI_Neighbor_allgather", "blocking", "with --blocking"): 1,
        })

    def test_nonblocking_collectives(self):
        self.expect(self.row("MPI_Ialltoall", "by default"), STEPS, RANKS * LONG, "overlaps")
        self.expect(self.row("MPI_Iallreduce", "by default"), STEPS, LONG, "waits_at_once")
        self.expect(self.row("MPI_Iallreduce", "if overlapped"), 1, SHORT, "short_one")
        self.expect(self.row("MPI_Ibcast", "by default"), 1, LONG, "tests")
        self.expect(self.row("MPI_Ineighbor_alltoall", "by default"), 1, 2 * LONG, "neighbors")

    def test_blocking_collectives(self):
        self.expect(self.row("MPI_Allreduce", "with --blocking"), STEPS, LONG, "blocks")
        self.expect(self.row("MPI_Allreduce", "left to MPI"), STEPS, SHORT, "blocks")
        self.expect(self.row("MPI_Neighbor_allgather", "with --blocking"), 1, SHORT, "neighbors")
        for row in self.report["calls"]:
            if row["form"] == "blocking":
                self.assertGreater(row["call_seconds"], 0)
                for name in ("computing_seconds", "exposed_seconds", "test_seconds", "hideable_seconds"):
                    self.assertEqual(row[name], 0, row)

    def test_messages(self):
        for function in ("MPI_Irecv", "MPI_Isend"):
            for plan, length in (("with --p2p", LONG), ("left to MPI", SHORT)):
                for row in self.rows(function, plan):
                    self.expect(row, STEPS, length, "halo")
        for function in ("MPI_Recv_init", "MPI_Send_init"):
            self.expect(self.row(function, "with --p2p"), STEPS, LONG, "persistent_ring")

    def test_reasons(self):
        reasons = {(row["function"], row["reason"]) for row in self.report["calls"] if row["plan"] == "left to MPI"}
        message = "message shorter than STOKER_PMPI_P2P_LEAST_BYTES"
        self.assertEqual(reasons, {
            ("MPI_Iallreduce", "operation of the application"),
            ("MPI_Allreduce", "shorter than STOKER_PMPI_LEAST_BYTES"),
            ("MPI_Allgather", "communicator of one rank"),
            ("MPI_Irecv", message),
            ("MPI_Isend", message),
        })
        self.assertEqual({row["reason"] for row in self.report["calls"] if row["plan"] != "left to MPI"}, {None})

    def test_parts_are_no_longer_than_the_whole(self):
        self.assertGreater(self.row("MPI_Ialltoall", "by default")["computing_seconds"], 0)
        self.assertGreater(self.row("MPI_Ibcast", "by default")["test_seconds"], 0)
        self.assertEqual(self.row("MPI_Ialltoall", "by default")["test_seconds"], 0)
        for row in self.report["calls"]:
            self.assertLessEqual(row["hideable_seconds"], row["exposed_seconds"] + SOON, row)
            self.assertLessEqual(row["test_seconds"], row["exposed_seconds"] + SOON, row)
        inside = sum(row["call_seconds"] + row["exposed_seconds"] for row in self.report["calls"])
        self.assertLessEqual(inside, self.report["mpi_seconds"] + SOON)
        self.assertLessEqual(self.report["mpi_seconds"], self.report["seconds"])

    def test_core_for_a_helper(self):
        core = self.report["core_for_helper"]
        self.assertEqual(core["ranks_per_node"], RANKS)
        self.assertAlmostEqual(core["computing_seconds"] * RANKS, self.report["seconds"] - self.report["mpi_seconds"])
        self.assertAlmostEqual(core["cost_seconds"], core["computing_seconds"] / RANKS)
        hideable = sum(row["hideable_seconds"] for row in self.report["calls"] if row["plan"] != "left to MPI")
        self.assertAlmostEqual(core["hideable_seconds"] * RANKS, hideable)
        self.assertIs(core["may_pay"], core["hideable_seconds"] > core["cost_seconds"])
        self.assertEqual((self.report["ranks"], self.report["nodes"], self.report["not_followed"]), (RANKS, 1, 0))


class Forms(Case):
    def test_text_to_standard_error(self):
        result = self.stoker_run("--", "./program", ranks=RANKS)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count(f"stoker: advice for {RANKS} ranks, 1 node; nothing was taken over"), 1, result.stderr)
        self.assertRegex(result.stderr, rf"(?m)^MPI_Ialltoall +{RANKS * STEPS} +{RANKS * LONG} +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+  by default ")
        self.assertRegex(result.stderr, rf"(?m)^MPI_Allreduce +{RANKS * STEPS} +{SHORT} +[\d.]+ +- +- +-  left to MPI \(\d\) ")
        self.assertRegex(result.stderr, r"for MPI_(A|Nei)(\w+) the program would need MPI_I(a|nei)\2, a computation")
        self.assertNotIn("summary", result.stderr)

    def test_more_frames(self):
        row, = (row for row in self.advice("./program", options=["--depth", "2"])["calls"] if row["function"] == "MPI_Ialltoall")
        self.assertEqual(len(row["called_from"]), 2, row)

    def test_other_settings_stay(self):
        report = self.advice("./program", STOKER_PMPI_P2P_LEAST_BYTES="0", STOKER_PMPI_LEAST_BYTES="0")
        plans = {row["plan"] for row in report["calls"] if row["function"] in ("MPI_Isend", "MPI_Irecv")}
        self.assertEqual(plans, {"with --p2p"})

    def test_what_it_sets(self):
        variables, _ = self.would_set("--", self.program)
        self.assertEqual({name: value for name, value in variables.items() if name != "LD_PRELOAD"},
                         {"STOKER_PMPI_ADVISE": "1", "STOKER_PMPI_SUMMARY": "1"})

    def test_one_process(self):
        result = self.stoker_run("--", "./program", ranks=1)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("communicator of one rank", result.stderr)

    def test_exit_code_is_the_programs(self):
        self.assertEqual(self.stoker_run("--", self.program, "3").returncode, 3)

    def test_no_program(self):
        for words in ((), ("--",), (self.program,)):
            result = self.stoker_run(*words)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("stoker advise -- ./program", result.stderr)
        result = self.stoker_run("--depth", "17", "--", self.program)
        self.assertIn("--depth", result.stderr)
        self.assertRegex(result.stderr, r"range \[?1 (to|-) 16")  # CLI11 2.1 and 2.4
        self.assertIn("stoker advise: ./nowhere", self.stoker_run("--", "./nowhere").stderr)


class Phases(Case):
    SOURCE = HERE / "advise_phases.c"

    def test_only_what_mpi_pcontrol_leaves_is_counted(self):
        report = self.advice("./program")
        self.assertEqual({row["function"]: row["calls"] for row in report["calls"]}, {
            "MPI_Ialltoall": RANKS * 3, "MPI_Allreduce": RANKS * 2, "MPI_Send_init": RANKS * 1, "MPI_Recv_init": RANKS * 1})
        seconds = sum(float((self.folder / f"seconds.{rank}").read_text()) for rank in range(RANKS))
        self.assertLess(report["seconds"], seconds - RANKS * 0.5, "the program sleeps for so long while calls are left out")
        self.assertGreater(report["seconds"], report["mpi_seconds"])


class OtherLanguages(Case):
    """Programs like run_program.c."""

    def expect(self, *words):
        report = self.advice(*words)
        counts = {(row["function"], row["plan"]): row["calls"] for row in report["calls"]}
        self.assertEqual(counts, {("MPI_Ialltoall", "by default"): RANKS * STEPS, ("MPI_Allreduce", "with --blocking"): RANKS * STEPS})
        for row in report["calls"]:
            self.assertNotIn("libmpi", row["called_from"][0])

    def test_fortran(self):
        self.expect(self.compile_fortran_or_skip("-g"))

    def test_python(self):
        self.need_mpi4py()
        self.expect(PYTHON, HERE / "run_program.py")


class Threads(Case):
    def test_no_thread_is_started(self):
        """But for those of the MPI library, which a run without the drop-in library has, too."""
        program = self.compile("threads_program", f"mpicc.{MPI}", "-w", HERE / "advise_threads.c")
        alone = subprocess.run([run_test.MPIRUN, MPI, str(RANKS), program], capture_output=True, text=True, check=True).stdout
        advised = self.succeed("--summary", "advice.txt", "--", program, ranks=RANKS)
        self.assertEqual(sorted(advised.split("\n")), sorted(alone.split("\n")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
