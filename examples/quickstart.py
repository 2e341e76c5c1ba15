#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The shortest use of stoker from Python: an all-to-all that runs while the program computes.

    mpiexec -n 4 python3 quickstart.py
"""

import sys

import numpy as np
from mpi4py import MPI

import stoker

BLOCK = 65536  # numbers for each rank
rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size

correct = True
with stoker.Engine(MPI.COMM_WORLD) as engine:
    send = np.empty((ranks, BLOCK))  # a row for each rank
    recv = np.empty((ranks, BLOCK))
    request = engine.Alltoall_init(send, recv)
    for step in (1, 2, 3):
        for peer in range(ranks):
            send[peer] = step * (1000 * rank + peer)  # from whom, to whom
        request.Start()
        total = np.sum(1 / np.arange(1.0, 2000000) ** 2)  # compute: the exchange proceeds meanwhile
        request.Wait()
        for peer in range(ranks):
            correct &= bool(np.all(recv[peer] == step * (1000 * peer + rank)))
        correct &= 1.644 < total < 1.645  # pi**2 / 6

print(f"rank {rank} of {ranks}: {'correct' if correct else 'WRONG'}")
sys.exit(not correct)
