#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The reports of the drop-in library: text, JSON, one line a job; and what tells the calls of a wrapper apart.

usage: reports.py MPIRUN MPI RANKS LIBRARY PROGRAM [FORTRAN_PROGRAM]
  PROGRAM: call_sites.c; FORTRAN_PROGRAM: call_sites.f90
"""

import ctypes.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MPIRUN, MPI, RANKS = sys.argv[1], sys.argv[2], int(sys.argv[3])
LOADED_MPI = os.environ.get("RIG_ABI", "mpich") if MPI == "abi" else MPI
LIBRARY, PROGRAM, *FORTRAN = (str(pathlib.Path(path).resolve()) for path in sys.argv[4:])
PREDICTED, CORRECTED = 3 * RANKS, 5 * RANKS
ROW = re.compile(r"^(?P<collective>\w+) +(?P<form>nonblocking) +(?P<communicator>.+?) +(?P<calls>\d+) +(?P<bytes>\d+) +(?P<exchange>[\d.]+) +"
                 r"(?P<hidden>[\d.]+) +(?P<exposed>[\d.]+) +(?P<by_mpi>\d+)%  (?P<verdict>.{12}) (?P<called_from>.{24,}?) (?P<algorithm>\S+)$",
                 re.MULTILINE)
HAS_LIBDW = ctypes.util.find_library("dw") is not None
BATCH = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "OAR_JOB_ID", "JOB_ID")


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-reports."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_job(self, *command, **settings):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("STOKER_") and key not in BATCH}
        settings = {"LD_PRELOAD": LIBRARY, "STOKER_PMPI_TRIALS": "0", **settings}
        result = subprocess.run([MPIRUN, MPI, str(RANKS), "env", *(f"{key}={value}" for key, value in settings.items()), *command],
                                capture_output=True, text=True, env=environment | {"RIG_TIMEOUT": "60"}, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def report(self, *command, **settings):
        file = self.folder / "report.json"
        self.run_job(*command, STOKER_PMPI_SUMMARY=file, **settings)
        return json.loads(file.read_text(encoding="utf-8"))

    def rows(self, *command, **settings):
        """The calls of alltoall by their frames."""
        rows = [row for row in self.report(*command, **settings)["calls"] if row["collective"] == "alltoall"]
        return {tuple(row["called_from"]): row["calls"] for row in rows}


class CallPaths(Case):
    def expect_one_place(self, rows):
        self.assertEqual(list(rows.values()), [PREDICTED + CORRECTED], rows)

    def expect_two_callers(self, rows, frames):
        self.assertEqual(sorted(rows.values()), [PREDICTED, CORRECTED], rows)
        self.assertEqual({len(names) for names in rows}, {frames}, rows)
        self.assertEqual(len({names[0] for names in rows}), 1, rows)  # the call of the MPI library

    def expect_names(self, rows, file, *functions):
        """In a program with debug information: who calls the wrapper."""
        if HAS_LIBDW:
            for calls, caller in ((PREDICTED, "predict"), (CORRECTED, "correct")):
                names = next(names for names, count in rows.items() if count == calls)
                for name, function in zip(names, ("exchange", caller, *functions)):
                    self.assertRegex(name, rf"{function}\S* \({file}:\d+\)$")

    def test_one_frame_unless_asked(self):
        rows = self.rows(PROGRAM)
        self.expect_one_place(rows)
        self.assertRegex(next(iter(rows))[0], r"^pmpi_call_sites\+0x")

    def test_two_frames(self):
        rows = self.rows(PROGRAM, STOKER_PMPI_DEPTH="2")
        self.expect_two_callers(rows, 2)
        self.expect_names(rows, "call_sites.c")

    def test_three_frames(self):
        rows = self.rows(PROGRAM, STOKER_PMPI_DEPTH="3")
        self.expect_two_callers(rows, 3)
        self.expect_names(rows, "call_sites.c", "main")

    def test_more_frames_than_there_are(self):
        rows = self.rows(PROGRAM, STOKER_PMPI_DEPTH="16")
        self.expect_two_callers(rows, 3)

    def test_stripped(self):
        stripped = self.folder / "stripped"
        subprocess.run(["strip", "-o", stripped, PROGRAM], check=True)
        rows = self.rows(stripped, STOKER_PMPI_DEPTH="2")
        self.expect_two_callers(rows, 2)
        for names in rows:
            for name in names:
                self.assertRegex(name, r"^stripped\+0x")

    def test_fortran(self):
        if not FORTRAN:
            self.skipTest("gfortran is not installed")
        self.expect_one_place(self.rows(*FORTRAN))
        rows = self.rows(*FORTRAN, STOKER_PMPI_DEPTH="2")
        self.expect_two_callers(rows, 2)
        self.expect_names(rows, "call_sites.f90")

    def test_text(self):
        file = self.folder / "report.txt"
        self.run_job(PROGRAM, STOKER_PMPI_SUMMARY=file, STOKER_PMPI_DEPTH="2")
        rows = [match.groupdict() for match in ROW.finditer(file.read_text(encoding="utf-8"))]
        self.assertEqual(sorted(int(row["calls"]) for row in rows), [PREDICTED, CORRECTED], rows)
        self.assertTrue(all(" < " in row["called_from"] for row in rows), rows)


class Json(Case):
    def test_counts_are_those_of_the_text(self):
        """Counts, because times differ from run to run. That both forms of one summary have the same times is a unit test's."""
        file = self.folder / "report.txt"
        self.run_job(PROGRAM, STOKER_PMPI_SUMMARY=file)
        text = file.read_text(encoding="utf-8")
        expected = ROW.search(text).groupdict()
        report = self.report(PROGRAM)
        row, = report["calls"]
        self.assertEqual(row["calls"], int(expected["calls"]))
        self.assertEqual(row["bytes"], int(expected["bytes"]) * row["calls"])
        self.assertEqual((row["calls_by_mpi"], int(expected["by_mpi"])), (0, 0))
        for name in ("collective", "form", "algorithm"):
            self.assertEqual(row[name], expected[name])
        self.assertEqual(row["called_from"], [expected["called_from"].strip()])
        for name in ("exchange_seconds", "hidden_seconds", "exposed_seconds"):
            self.assertGreaterEqual(row[name], 0)
        self.assertEqual(row["communicator"], 'the "world"\twide')
        self.assertEqual(expected["communicator"], 'the "world" wide')
        self.assertEqual([(helper["rank"], sorted(helper)) for helper in report["helpers"]],
                         [(int(rank), ["busy_rounds", "busy_seconds", "idle_rounds", "idle_seconds", "rank", "sleeping_seconds"])
                          for rank in re.findall(r"^helper at rank (\d+):", text, re.MULTILINE)])
        self.assertEqual(report["ranks"], RANKS)
        self.assertIsNone(report["background"])

    def test_calls_that_are_left(self):
        report = self.report(PROGRAM, STOKER_PMPI_NONBLOCKING="0")
        self.assertEqual(report["calls"], [])
        self.assertEqual(report["left_to_mpi"], [{"collective": "alltoall", "form": "nonblocking", "calls": PREDICTED + CORRECTED,
                                                  "reason": "calls of this form are not asked for"}])

    def test_background(self):
        self.assertEqual(self.report(PROGRAM, STOKER_PMPI_P2P="1")["background"],
                         {"messages": 0, "unfinished": 0, "given_up": 0, "polls": 0, "poll_seconds": 0, "help": []})

    def test_file_that_cannot_be_written(self):
        for setting in ("STOKER_PMPI_SUMMARY", "STOKER_PMPI_JOB_LINE"):
            result = self.run_job(PROGRAM, **{setting: self.folder / "nowhere" / "report.json"})
            self.assertEqual(len(re.findall(rf"^stoker: {setting}=.*: cannot be written", result.stderr, re.MULTILINE)), 1, result.stderr)


class JobLine(Case):
    def test_each_job_adds_one(self):
        file = self.folder / "jobs"
        self.run_job(PROGRAM, STOKER_PMPI_JOB_LINE=file, SLURM_JOB_ID="4711")
        self.run_job(PROGRAM, STOKER_PMPI_JOB_LINE=file, STOKER_PMPI_NONBLOCKING="0")
        taken, left = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        for line in (taken, left):
            self.assertEqual((line["program"], line["ranks"], line["nodes"]), (pathlib.Path(PROGRAM).name, RANKS, 1))
            self.assertRegex(line["mpi"], {"mpich": r"^MPICH \d", "openmpi": r"^Open MPI \d"}[LOADED_MPI])
            self.assertRegex(line["stoker"], r"^\d+\.\d+\.\d+$")
            self.assertRegex(line["finished"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual((taken["job"], left["job"]), ("4711", None))
        self.assertEqual((taken["calls_by_engine"], taken["calls_by_mpi"]), (PREDICTED + CORRECTED, 0))
        self.assertEqual((left["calls_by_engine"], left["calls_by_mpi"]), (0, PREDICTED + CORRECTED))
        self.assertGreater(taken["exchange_seconds"], 0)
        self.assertEqual(left["verdict"], "left to MPI")

    def test_beside_a_summary(self):
        lines, summary = self.folder / "jobs", self.folder / "report.json"
        self.run_job(PROGRAM, STOKER_PMPI_JOB_LINE=lines, STOKER_PMPI_SUMMARY=summary)
        line, report = json.loads(lines.read_text(encoding="utf-8")), json.loads(summary.read_text(encoding="utf-8"))
        row, = report["calls"]
        for name in ("exchange_seconds", "hidden_seconds", "exposed_seconds", "verdict"):
            self.assertEqual(line[name], row[name])
        self.assertEqual(line["helpers_idle_seconds"], sum(helper["idle_seconds"] for helper in report["helpers"]))
        for name in ("format", "stoker", "mpi", "program", "job", "finished", "ranks", "nodes"):
            self.assertEqual(line[name], report[name])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
