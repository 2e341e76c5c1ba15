#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A tool sees the MPI library's own variables, categories and errors with the drop-in library as without it.

usage: tool_variables.py MPIRUN MPI LIBRARY PROGRAM
  PROGRAM: tool_variables.c
"""

import difflib
import os
import subprocess
import sys

MPIRUN, MPI, LIBRARY, PROGRAM = sys.argv[1:]


def listing(before, *options):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("STOKER_") and key != "LD_PRELOAD"}
    result = subprocess.run([MPIRUN, MPI, "2", *before, PROGRAM, *options, "listing"], capture_output=True, text=True, env=environment, check=False)
    if result.returncode != 0:
        sys.exit(result.stderr)
    return result.stdout.splitlines()


alone = listing([])
under_stoker = listing(["env", f"LD_PRELOAD={LIBRARY}"], "--stoker")
for kind in ("cvar", "category", "code"):
    if not any(line.startswith(f"{kind} ") for line in alone):
        sys.exit(f"no {kind} is listed")
differences = list(difflib.unified_diff(alone, under_stoker, "alone", "with the drop-in library", lineterm="", n=0))
if differences:
    sys.exit("\n".join(differences))
