# SPDX-License-Identifier: BSD-3-Clause
"""What tests of the command line `stoker` share: running it, alone or under the MPI launcher, and what is expected of that.

The first arguments of each test: STOKER [MPIRUN MPI]
  MPIRUN: tests/rig/mpirun; MPI: mpich or openmpi
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

STOKER = os.path.abspath(sys.argv[1])
MPIRUN, MPI = (sys.argv[2:4] + [None, None])[:2]
ROOT = pathlib.Path(__file__).resolve().parents[2]


def clean_environment(**extra):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STOKER_")}
    environment.update(extra)
    return environment


def run(*arguments, ranks=0, before=(), **extra):
    """Runs `stoker ARGUMENTS`, under the launcher when `ranks` is not 0."""
    launch = [MPIRUN, MPI, str(ranks)] if ranks else []
    return subprocess.run(
        [*launch, *before, STOKER, *arguments],
        capture_output=True, text=True, timeout=150, env=clean_environment(**extra), check=False)


class Case(unittest.TestCase):
    def succeed(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def fail_with(self, *parts, arguments, code=1, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def succeed_json(self, *arguments, **options):
        return json.loads(self.succeed(*arguments, "--json", **options))
