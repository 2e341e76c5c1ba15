#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The same in Python."""

import array

from mpi4py import MPI

world = MPI.COMM_WORLD
ints, steps = 1 << 14, 5
sent, got = (array.array("i", bytes(4 * ints * world.size)) for _ in range(2))
for _ in range(steps):
    world.Ialltoall(sent, got).Wait()
    world.Allreduce(sent, got)
