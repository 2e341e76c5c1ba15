# SPDX-License-Identifier: BSD-3-Clause
"""stoker from Python: collectives of mpi4py's communicators on progress threads, and global memory.

    with stoker.Engine(MPI.COMM_WORLD) as engine:
        request = engine.Alltoall_init(send, recv)
        request.Start()
        compute()                                   # the exchange proceeds
        request.Wait()

Names are those of mpi4py's calls on buffers. docs/python.md has more; errors are exceptions, stoker.Error.
"""

from ._config import VERSION as __version__
from ._engine import Engine
from ._global_memory import EQ, GE, GT, LE, LT, NE, GlobalMemory, GlobalPointer, Team, Transfer
from ._library import CODES, Error, error_string
from ._requests import Request

globals().update(CODES)

__all__ = ["Engine", "Error", "GlobalMemory", "GlobalPointer", "Request", "Team", "Transfer", "error_string", "EQ", "NE", "GT", "GE", "LT",
           "LE", *CODES]
