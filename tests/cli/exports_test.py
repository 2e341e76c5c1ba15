# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `stoker run --exports`, and of the TaskProlog that Slurm starts, without Slurm.

usage: exports_test.py STOKER DROP_IN LIBRARY_FOLDER MPIRUN MPI TASK_PROLOG    as run_test.py; a TaskProlog that asks STOKER
"""

import subprocess
import sys
import unittest

import run_test
from run_test import DROP_IN, MPI, RANK

TASK_PROLOG = sys.argv[6]


class Case(run_test.Case):
    def exports_of_dry_run(self, *words, **options):
        variables, _ = self.would_set(*words, **options)
        return [f"export {name}={value}" for name, value in variables.items()]


class Exports(Case):
    def test_lines_are_those_of_a_dry_run(self):
        for options in ((), ("--mapped", "--blocking"), ("--p2p", "--summary", "a b=c.txt")):
            words = (*options, "--", self.program)
            self.assertEqual(self.succeed("--exports", *words).splitlines(), self.exports_of_dry_run(*words))

    def test_each_rank_has_them(self):
        text = self.succeed("--exports", "--", self.program, ranks=3)
        self.assertRegex(text, rf"\A(export LD_PRELOAD=(\S*:)?{DROP_IN}\n){{3}}\Z")  # the launcher may preload, too

    def test_not_with_a_dry_run(self):
        result = self.stoker_run("--exports", "--dry-run", "--", self.program)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("--dry-run", result.stderr)

    def test_values_have_one_line(self):
        result = self.stoker_run("--exports", "--summary", "a\nb", "--", self.program)
        self.assertEqual((result.returncode, result.stdout), (125, ""))
        self.assertIn("STOKER_PMPI_SUMMARY has more than one line", result.stderr)


class TaskProlog(Case):
    def task_prolog(self, **variables):
        return subprocess.run(["sh", TASK_PROLOG], capture_output=True, text=True, timeout=60, cwd=self.folder,
                              env=run_test.clean_environment(**variables), check=False)

    def test_options_are_a_variable(self):
        step = {"SLURM_STEP_ID": "0", RANK[MPI]: "0"}
        for options in ("", "--blocking  --mapped", f"--drop-in {DROP_IN}"):
            result = self.task_prolog(STOKER_RUN=options, **step)
            expected = self.exports_of_dry_run(*options.split(), "--", "sh", **step)
            self.assertEqual((result.returncode, result.stdout.splitlines()), (0, [*expected, "unset STOKER_RUN"]), result.stderr)

    def test_nothing_unless_asked_for_in_a_step(self):
        for variables in ({"SLURM_STEP_ID": "0"}, {"STOKER_RUN": ""}):
            result = self.task_prolog(**{RANK[MPI]: "0"}, **variables)
            self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_refusals_are_printed_and_end_the_task(self):
        result = self.task_prolog(STOKER_RUN="", SLURM_STEP_ID="0")
        self.assertEqual(result.returncode, 125)
        self.assertRegex(result.stdout, r"\Aprint stoker run: sh: .*no launcher")
        result = self.task_prolog(STOKER_RUN="--blockng", SLURM_STEP_ID="0", **{RANK[MPI]: "0"})
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual([line for line in result.stdout.splitlines() if not line.startswith("print ")], [])
        self.assertIn("--blockng", result.stdout)

    def test_what_sets_nothing_ends_the_task(self):
        result = self.task_prolog(STOKER_RUN="--help", SLURM_STEP_ID="0", **{RANK[MPI]: "0"})
        self.assertEqual(result.returncode, 125)
        self.assertEqual([line for line in result.stdout.splitlines() if not line.startswith("print ")], [])

    def test_options_are_no_patterns(self):
        (self.folder / "--mapped").touch()
        result = self.task_prolog(STOKER_RUN="--m*", SLURM_STEP_ID="0", **{RANK[MPI]: "0"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("--m*", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
