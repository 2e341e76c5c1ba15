#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The drop-in library loaded as it should be, and in every wrong way: each is named in one line, and the program works or ends.

usage: loading.py MPIRUN MPI MPICC LIBRARY CONFORMANCE LATE_RANK
  MPIRUN: tests/rig/mpirun; MPI: mpich | openmpi | abi; LIBRARY: libstoker-pmpi.so; CONFORMANCE: the conformance suite's program;
  LATE_RANK: the library that makes a rank late
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MPIRUN, MPI, MPICC = sys.argv[1:4]
LIBRARY, CONFORMANCE, LATE_RANK = (str(pathlib.Path(path).resolve()) for path in sys.argv[4:7])
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MPI_LIBRARY = {"mpich": "-lmpich", "openmpi": "-lmpi", "abi": "-lmpi_abi"}[MPI]
FILE = pathlib.Path(LIBRARY).name
LOADED_MPI = os.environ.get("RIG_ABI", "mpich") if MPI == "abi" else MPI
RANK = {"mpich": "PMI_RANK", "openmpi": "OMPI_COMM_WORLD_RANK"}[LOADED_MPI]
OTHER_BUILD = {"mpich": "build-openmpi", "openmpi": "build", "abi": "build"}[MPI]


def clean_environment(**extra):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("STOKER_") and key != "LD_PRELOAD"}
    environment.update(extra)
    return environment


def lines_of_library(text):
    return [line for line in text.splitlines() if line.startswith(("stoker: ", "[stoker] "))]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-loading."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_job(self, *command, ranks=2, preload=LIBRARY, succeeds=True, **settings):
        before = ["env", *(f"{key}={value}" for key, value in settings.items())]
        if preload:
            before.append(f"LD_PRELOAD={preload}")
        result = subprocess.run([MPIRUN, MPI, str(ranks), *before, *map(str, command)], capture_output=True, text=True,
                                env=clean_environment(RIG_TIMEOUT="60"))
        if succeeds:
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def compile(self, source, *flags):
        program = self.folder / source.removesuffix(".c")
        subprocess.run([MPICC, "-I", ROOT / "api/include", "-o", program, HERE / source, *flags], check=True)
        return program

    def expect_line(self, result, *parts, processes=1):
        """The same line from so many processes at most, which names these things."""
        lines = lines_of_library(result.stderr)
        self.assertTrue(lines, result.stderr)
        self.assertEqual(len(set(lines)), 1, result.stderr)
        self.assertLessEqual(len(lines), processes, result.stderr)
        for part in parts:
            self.assertIn(part, lines[0])


class Loaded(Case):
    def test_says_nothing(self):
        result = self.run_job(CONFORMANCE, "opposite-order")
        self.assertEqual(lines_of_library(result.stderr), [])

    def test_preloaded_into_the_launcher_too(self):
        result = subprocess.run([MPIRUN, MPI, "2", CONFORMANCE, "opposite-order"], capture_output=True, text=True,
                                env=clean_environment(LD_PRELOAD=LIBRARY, RIG_TIMEOUT="60"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(lines_of_library(result.stderr), [])

    def test_into_a_program_without_mpi(self):
        result = subprocess.run(["/bin/echo", "hello"], capture_output=True, text=True,
                                env=clean_environment(LD_PRELOAD=LIBRARY))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "hello\n", ""))

    def test_linked_before_mpi(self):
        folder = pathlib.Path(LIBRARY).parent
        program = self.compile("linked.c", f"-L{folder}", f"-l:{FILE}", f"-Wl,-rpath,{folder}")
        result = self.run_job(program, preload=None, STOKER_PMPI_SUMMARY="1")
        self.assertIn("alltoall", result.stderr)

    def test_one_rank(self):
        result = self.run_job(CONFORMANCE, "one-rank", ranks=1)
        self.assertEqual(lines_of_library(result.stderr), [])


class LoadedWrongly(Case):
    def test_behind_the_mpi_library(self):
        folder = pathlib.Path(LIBRARY).parent
        program = self.compile("osu_style.c", MPI_LIBRARY, f"-L{folder}", "-Wl,--no-as-needed", f"-l:{FILE}",
                               f"-Wl,-rpath,{folder}")
        result = self.run_job(program, preload=None)
        self.expect_line(result, FILE, "before", processes=2)

    def test_missing_on_one_rank(self):
        command = f'test "${RANK}" = 1 || export LD_PRELOAD={LIBRARY}; exec {CONFORMANCE} opposite-order'
        result = self.run_job("sh", "-c", command, ranks=3, preload=None, STOKER_PMPI_TIMEOUT="2")
        self.expect_line(result, FILE, "rank 1 of 3")

    def test_missing_on_rank_0(self):
        command = f'test "${RANK}" = 0 || export LD_PRELOAD={LIBRARY}; exec {CONFORMANCE} opposite-order'
        result = self.run_job("sh", "-c", command, preload=None, STOKER_PMPI_TIMEOUT="1")
        self.expect_line(result, FILE, "rank 0 of 2")

    def late(self, rank, milliseconds, **settings):
        return self.run_job(CONFORMANCE, "never-started", ranks=4, preload=f"{LIBRARY}:{LATE_RANK}", LATE_RANK=rank,
                            LATE_MILLISECONDS=milliseconds, **settings)

    def test_late_rank_is_waited_for(self):
        for rank in (0, 2, 3):
            result = self.late(rank, 1000, STOKER_PMPI_SUMMARY="1")
            self.assertIn("alltoall", result.stderr)
            self.assertNotIn("late", result.stderr)

    def test_too_late_rank_goes_on_as_the_others_do(self):
        for rank in (1, 3):  # the latter is found missing by rank 2
            lines = lines_of_library(self.late(rank, 4000, STOKER_PMPI_TIMEOUT="1").stderr)
            self.assertEqual(sum(f"not loaded on rank {rank} of 4, or late" in line for line in lines), 1, lines)

    def test_rank_0_too_late(self):
        for line in lines_of_library(self.late(0, 8000, STOKER_PMPI_TIMEOUT="1").stderr):
            self.assertIn("rank 0 of 4 does not answer rank", line)

    def test_built_for_the_other_mpi(self):
        other = ROOT / OTHER_BUILD / "api/pmpi/libstoker-pmpi.so"
        if not other.exists():
            self.skipTest(f"{other} is not built")
        result = self.run_job(CONFORMANCE, "opposite-order", preload=other, succeeds=False)
        self.assertNotIn("stopped after", result.stderr)
        self.assertNotIn("FAILED", result.stderr)
        self.assertNotIn("egmentation", result.stderr)
        self.expect_line(result, "two MPI libraries", "MPICH", "the standard ABI" if MPI == "abi" else "Open MPI", processes=2)

    def test_mpi_linked_into_the_program(self):
        for flags in ([], ["-rdynamic"]):
            program = self.folder / "own_mpi"
            subprocess.run(["cc", *flags, "-o", program, HERE / "own_mpi.c"], check=True)
            result = self.run_job(program)
            self.assertEqual(result.stdout.count("it works"), 2)
            self.expect_line(result, "static", processes=2)

    @unittest.skipIf(MPI == "abi", "no library with the standard ABI is to be had for static linking")
    def test_static_mpi_library(self):
        program = self.folder / "static"
        command = [MPICC, "-I", ROOT, "-o", program, HERE / "osu_style.c", "-Wl,-Bstatic", MPI_LIBRARY, "-Wl,-Bdynamic"]
        needed = subprocess.run(["pkg-config", "--static", "--libs", {"mpich": "mpich", "openmpi": "ompi"}[MPI]],
                                capture_output=True, text=True).stdout.split()
        needed = [flag for flag in needed if flag != MPI_LIBRARY]
        linked = subprocess.run([*command, *needed], capture_output=True, text=True)
        if linked.returncode != 0:
            self.skipTest("the MPI library cannot be linked statically here")
        self.expect_line(self.run_job(program), "static", processes=2)


class Settings(Case):
    def test_bad_value(self):
        result = self.run_job(CONFORMANCE, "opposite-order", STOKER_PMPI_LEAST_BYTES="abc")
        self.expect_line(result, "STOKER_PMPI_LEAST_BYTES", '"abc"', "expected")
        result = self.run_job(CONFORMANCE, "one-rank", ranks=1, STOKER_PMPI_LEAST_BYTES="abc")
        self.expect_line(result, "STOKER_PMPI_LEAST_BYTES", '"abc"', "expected")

    def test_unknown_name(self):
        result = self.run_job(CONFORMANCE, "opposite-order", STOKER_PMPI_BLOCKNG="1")
        self.expect_line(result, "STOKER_PMPI_BLOCKNG")

    def test_bad_setting_of_the_engine(self):
        result = self.run_job(CONFORMANCE, "opposite-order", STOKER_EXECUTOR="sideways")
        self.expect_line(result, "executor", "sideways")

    def communicators(self, **settings):
        """Calls of all forms on communicators of three and of two ranks: what the library says of settings, and the summary."""
        result = self.run_job(CONFORMANCE, "--strict", "communicators", ranks=3, STOKER_PMPI_BLOCKING="1", STOKER_PMPI_TRIALS="0",
                              STOKER_PMPI_SUMMARY="1", **settings)
        lines = [line for line in lines_of_library(result.stderr) if "setting" in line]
        for line in lines:
            self.assertLessEqual(lines.count(line), 3, lines)  # one of a process
        return set(lines), result.stderr

    def test_list_of_factors_that_fits_some_communicators_only(self):
        """The program knows nothing of it, so nothing fails: the list is taken where it fits."""
        lines, summary = self.communicators(STOKER_ALGORITHMS="allreduce=recursive-exchange:factors=-3 3")
        self.assertEqual(len(lines), 1, lines)
        for part in ("allreduce=recursive-exchange:factors=-3 3", "for 2 members", "here recursive-exchange:factors=-2 2"):
            self.assertIn(part, next(iter(lines)))
        for taken in ("-3 3", "-2 2"):
            self.assertRegex(summary, f"(?m)^allreduce .* recursive-exchange:factors={taken}")

    def test_what_carries_out_puts(self):
        _, summary = self.communicators(STOKER_ALGORITHMS="alltoall=rma-fence")
        self.assertRegex(summary, r"(?m)^alltoall .* rma-fence \((copies|messages|window)\)$")

    def test_algorithm_that_does_not_fit_another_setting(self):
        lines, summary = self.communicators(STOKER_ALGORITHMS="allreduce=node-aware", STOKER_DETERMINISTIC="1")
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("no fixed order", next(iter(lines)))
        self.assertNotRegex(summary, "(?m)^allreduce .* node-aware")

    def settings_file(self, text):
        file = self.folder / "settings.toml"
        file.write_text(text)
        return file

    def test_settings_file(self):
        file = self.settings_file("pmpi_summary = 1\npmpi_nonblocking = 0\npmpi_persistent = false\n")
        result = self.run_job(CONFORMANCE, "opposite-order", STOKER_SETTINGS_FILE=file)
        self.check_summary(result.stderr, "no call was carried out by the engine")
        result = self.run_job(CONFORMANCE, "opposite-order", STOKER_SETTINGS_FILE=file, STOKER_PMPI_SUMMARY="0")
        self.assertEqual(lines_of_library(result.stderr), [])

    def test_executor_means_the_same_wherever_it_is_given(self):
        """Inline, the thread level stays as it was asked for, which leaves no nonblocking call to the engine."""
        file = self.settings_file("executor = 'inline'\n")
        for inline, settings in ((False, {}), (True, {"STOKER_EXECUTOR": "inline"}), (True, {"STOKER_SETTINGS_FILE": file}),
                                 (False, {"STOKER_SETTINGS_FILE": file, "STOKER_EXECUTOR": "auto"})):
            result = self.run_job(CONFORMANCE, "init-single", STOKER_PMPI_SUMMARY="1", **settings)
            self.assertEqual("executor=inline" in result.stderr, inline, (settings, result.stderr))

    def check_summary(self, text, *parts):
        for part in ("alltoall", "allreduce", "bcast", "nonblocking", *parts):
            self.assertIn(part, text)
        self.assertRegex(text, r"(?m)^helper at rank 0: busy \d+\.\d+ s, idle \d+\.\d+ s, sleeping \d+\.\d+ s; \d+ busy rounds, \d+ idle$")

    def test_summary(self):
        result = self.run_job(CONFORMANCE, "opposite-order", "intercommunicators", STOKER_PMPI_SUMMARY="1")
        self.check_summary(result.stderr, "pmpi_conformance+0x", "intercommunicator")

    def test_no_verdict_without_a_comparison(self):
        result = self.run_job(CONFORMANCE, "blocking", STOKER_PMPI_SUMMARY="1", STOKER_PMPI_BLOCKING="1", STOKER_PMPI_TRIALS="0")
        rows = [line for line in result.stderr.splitlines() if " blocking " in line and "%" in line]
        self.assertTrue(rows, result.stderr)
        self.assertEqual([row for row in rows if "  not compared " not in row], [])

    def test_summary_in_a_file(self):
        file = self.folder / "summary.txt"
        result = self.run_job(CONFORMANCE, "opposite-order", STOKER_PMPI_SUMMARY=file)
        self.check_summary(file.read_text(), "pmpi_conformance+0x")
        self.assertEqual(lines_of_library(result.stderr), [])

    def test_no_summary_unasked(self):
        for settings in ({}, {"STOKER_PMPI_SUMMARY": "0"}):
            self.assertEqual(lines_of_library(self.run_job(CONFORMANCE, "opposite-order", **settings).stderr), [])

    def shares_of_mpi(self, **settings):
        """Of the calls of persistent requests, in percent, as the summary has it."""
        result = self.run_job(CONFORMANCE, "--strict", "many-starts", STOKER_PMPI_SUMMARY="1", **settings)
        rows = [line.split() for line in result.stderr.splitlines() if " persistent " in line and "%" in line]
        self.assertGreater(len(rows), 15, result.stderr)
        return [int(next(word for word in row if word.endswith("%")).rstrip("%")) for row in rows]

    def test_persistent_calls_are_tried_with_mpi(self):
        shares = self.shares_of_mpi()
        self.assertGreater(sum(share > 0 for share in shares), 10, shares)

    def test_requests_give_back_what_trials_take(self):
        result = self.run_job(CONFORMANCE, "--strict", "many-requests", STOKER_PMPI_SUMMARY="1")
        row = next(line for line in result.stderr.splitlines() if " after-many-requests " in line)
        self.assertGreater(int(next(word for word in row.split() if word.endswith("%")).rstrip("%")), 0, row)

    def test_nothing_is_tried_unwanted(self):
        self.assertEqual(set(self.shares_of_mpi(STOKER_PMPI_TRIALS="0")), {0})

    def test_bits_that_must_not_change_are_not_tried(self):
        result = self.run_job(CONFORMANCE, "--strict", "many-starts", STOKER_PMPI_SUMMARY="1", STOKER_DETERMINISTIC="1")
        for family in ("allreduce", "reduce_scatter_block", "scan"):
            row = next(line for line in result.stderr.splitlines() if line.startswith(family + " "))
            self.assertIn(" 0% ", row)

    def test_communicators_that_are_used_are_served(self):
        result = self.run_job(CONFORMANCE, "--strict", "used-communicators", STOKER_PMPI_SUMMARY="1", STOKER_PMPI_COMMUNICATORS="24")
        served = {line.split()[2] for line in result.stderr.splitlines() if re.match("alltoall +nonblocking +used-by-", line)}
        families = ("barrier", "allreduce", "allgather", "alltoall", "reduce_scatter_block")
        self.assertEqual(served, {f"used-by-{family}" for family in families}, result.stderr)  # bcast waits for one rank

    def test_switched_off(self):
        result = self.run_job(CONFORMANCE, "opposite-order", STOKER_PMPI_SUMMARY="1", STOKER_PMPI_NONBLOCKING="0",
                              STOKER_PMPI_PERSISTENT="0")
        self.check_summary(result.stderr, "no call was carried out by the engine")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
