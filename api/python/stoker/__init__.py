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
from ._declarations import CONSTANTS
from ._engine import Engine
from ._global_memory import GlobalMemory, GlobalPointer, Team, Transfer
from ._library import Error, error_string
from ._requests import Request

globals().update(CONSTANTS)  # codes, ERR_*; comparisons for Wait_until, EQ to LE

__all__ = ["Engine", "Error", "GlobalMemory", "GlobalPointer", "Request", "Team", "Transfer", "error_string", *CONSTANTS]
