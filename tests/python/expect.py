# SPDX-License-Identifier: BSD-3-Clause
"""Expectations that every rank checks: a program ends with `finish`, which fails on all ranks if one failed."""

import sys

import numpy as np
from mpi4py import MPI

failures = []


def expect(what, holds):
    if not holds:
        failures.append(what)
        print(f"rank {MPI.COMM_WORLD.rank}: {what}", file=sys.stderr)


def expect_equal(what, got, expected):
    expect(f"{what}: {got} is not {expected}", np.array_equal(got, expected))


def expect_error(kind, part, call, *arguments, code=None, **keywords):
    """The call raises an exception of this kind, whose message has this part."""
    try:
        call(*arguments, **keywords)
    except kind as error:
        expect(f"{part!r} is not in {error}", part in str(error))
        expect(f"code {code} expected: {error}", code is None or error.code == code)
    else:
        expect(f"{call.__name__} raised nothing; expected {part!r}", False)


def finish():
    sys.exit(1 if MPI.COMM_WORLD.allreduce(len(failures)) else 0)
