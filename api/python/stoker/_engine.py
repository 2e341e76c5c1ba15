# SPDX-License-Identifier: BSD-3-Clause
"""Engines, and the collectives on them."""

import ctypes
import weakref

from mpi4py import MPI

from . import _collectives
from ._library import POINTER, SIZE, call, fields, handle, pointer_type, told
from ._requests import Request


class _Setting(ctypes.Structure):
    _fields_ = fields("stoker_setting")


def _text(value):
    return str(int(value) if isinstance(value, bool) else value).encode()


class Engine:
    """An engine over a communicator of mpi4py's: Engine(comm, executor="inline", ...). Collective.

    Keyword arguments are settings (docs/settings.md). Use it in a with statement, or call Destroy: both are collective. An
    engine that is left over is destroyed inside MPI_Finalize.

    X_init returns a persistent Request; X is the blocking call. Buffers are messages as in mpi4py: a buffer, or a list such
    as [buffer, counts, displacements, datatype]. MPI.IN_PLACE is accepted where MPI accepts it. `comm` is the engine's
    communicator unless given. Arguments are checked on each rank: when one raises an exception, the others wait for it.
    """

    def __init__(self, comm=MPI.COMM_WORLD, **settings):
        self._handle = pointer_type()
        self._comm = comm
        pairs = (_Setting * len(settings))(*(_Setting(key.encode(), _text(value)) for key, value in settings.items()))
        call("engine_create", handle(comm), pairs, SIZE(len(settings)), ctypes.byref(self._handle))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:  # the other ranks may not come here after an exception
            self.Destroy()

    def Destroy(self):
        """Destroys the engine, after completing requests that are active. Collective."""
        call("engine_destroy", ctypes.byref(self._handle))

    def Pause(self):
        """Pauses the helper of the calling rank's domain."""
        call("pause", self._handle)

    def Resume(self):
        """Resumes it."""
        call("resume", self._handle)

    def Alloc(self, nbytes):
        """Memory that helpers reach without a copy, as a buffer of bytes: numpy.frombuffer(engine.Alloc(8 * n), "d").

        It is given back when the last array on it is gone.
        """
        address = POINTER()
        call("alloc", self._handle, SIZE(nbytes), ctypes.byref(address))
        memory = (ctypes.c_ubyte * nbytes).from_address(address.value)
        weakref.finalize(memory, call, "dealloc", address).atexit = False
        return memory

    def Get_facts(self):
        """What the engine is, as a dictionary: the members of stoker_engine_facts."""
        return told("stoker_engine_facts", "engine_get_facts", self._handle)

    def Get_helper_statistics(self):
        """What the helper of this rank's domain did, as a dictionary: the members of stoker_helper_statistics."""
        return told("stoker_helper_statistics", "helper_get_statistics", self._handle)

    def Trace_begin(self, name):
        """Marks the beginning of a region in the trace."""
        call("trace_begin", self._handle, ctypes.create_string_buffer(name.encode()))

    def Trace_end(self):
        """Ends the region that was begun last."""
        call("trace_end", self._handle)

    def _init(self, name, comm, info, *given):
        comm = self._comm if comm is None else comm
        arguments, kept = getattr(_collectives, name)(comm, *given)
        form = "" if name == "barrier" else "_c"
        return Request(f"{name}_init{form}", [*arguments, handle(comm), handle(info), self._handle], self, kept)

    def _call(self, name, comm, *given):
        comm = self._comm if comm is None else comm
        arguments, _ = getattr(_collectives, name)(comm, *given)
        call(name if name == "barrier" else f"{name}_c", *arguments, handle(comm), self._handle)

    def Alltoall_init(self, sendbuf, recvbuf, comm=None, info=MPI.INFO_NULL):
        """All-to-all: the i-th part of sendbuf to rank i."""
        return self._init("alltoall", comm, info, sendbuf, recvbuf)

    def Alltoallv_init(self, sendbuf, recvbuf, comm=None, info=MPI.INFO_NULL):
        """All-to-all with counts."""
        return self._init("alltoallv", comm, info, sendbuf, recvbuf)

    def Neighbor_alltoall_init(self, sendbuf, recvbuf, comm=None, info=MPI.INFO_NULL):
        """A part of sendbuf to each neighbor in the topology of comm."""
        return self._init("neighbor_alltoall", comm, info, sendbuf, recvbuf)

    def Neighbor_alltoallv_init(self, sendbuf, recvbuf, comm=None, info=MPI.INFO_NULL):
        """The same with counts."""
        return self._init("neighbor_alltoallv", comm, info, sendbuf, recvbuf)

    def Allreduce_init(self, sendbuf, recvbuf, op=MPI.SUM, comm=None, info=MPI.INFO_NULL):
        """Reduction to all ranks."""
        return self._init("allreduce", comm, info, sendbuf, recvbuf, op)

    def Reduce_init(self, sendbuf, recvbuf, op=MPI.SUM, root=0, comm=None, info=MPI.INFO_NULL):
        """Reduction to root; recvbuf matters there only."""
        return self._init("reduce", comm, info, sendbuf, recvbuf, op, root)

    def Bcast_init(self, buf, root=0, comm=None, info=MPI.INFO_NULL):
        """Broadcast from root."""
        return self._init("bcast", comm, info, buf, root)

    def Reduce_scatter_init(self, sendbuf, recvbuf, recvcounts, op=MPI.SUM, comm=None, info=MPI.INFO_NULL):
        """Reduction whose result is dealt out in blocks of recvcounts[i] elements."""
        return self._init("reduce_scatter", comm, info, sendbuf, recvbuf, recvcounts, op)

    def Reduce_scatter_block_init(self, sendbuf, recvbuf, op=MPI.SUM, comm=None, info=MPI.INFO_NULL):
        """The same with equal blocks."""
        return self._init("reduce_scatter_block", comm, info, sendbuf, recvbuf, op)

    def Allgather_init(self, sendbuf, recvbuf, comm=None, info=MPI.INFO_NULL):
        """Gathers a block of each rank on all ranks."""
        return self._init("allgather", comm, info, sendbuf, recvbuf)

    def Allgatherv_init(self, sendbuf, recvbuf, comm=None, info=MPI.INFO_NULL):
        """The same with blocks of different sizes."""
        return self._init("allgatherv", comm, info, sendbuf, recvbuf)

    def Gather_init(self, sendbuf, recvbuf, root=0, comm=None, info=MPI.INFO_NULL):
        """Gathers a block of each rank at root; recvbuf matters there only."""
        return self._init("gather", comm, info, sendbuf, recvbuf, root)

    def Gatherv_init(self, sendbuf, recvbuf, root=0, comm=None, info=MPI.INFO_NULL):
        """The same with blocks of different sizes."""
        return self._init("gatherv", comm, info, sendbuf, recvbuf, root)

    def Scatter_init(self, sendbuf, recvbuf, root=0, comm=None, info=MPI.INFO_NULL):
        """Deals the blocks of root out; sendbuf matters there only."""
        return self._init("scatter", comm, info, sendbuf, recvbuf, root)

    def Scatterv_init(self, sendbuf, recvbuf, root=0, comm=None, info=MPI.INFO_NULL):
        """The same with blocks of different sizes."""
        return self._init("scatterv", comm, info, sendbuf, recvbuf, root)

    def Barrier_init(self, comm=None, info=MPI.INFO_NULL):
        """Barrier."""
        return self._init("barrier", comm, info)

    def Scan_init(self, sendbuf, recvbuf, op=MPI.SUM, comm=None, info=MPI.INFO_NULL):
        """Combines the operands of ranks 0 to this one."""
        return self._init("scan", comm, info, sendbuf, recvbuf, op)

    def Exscan_init(self, sendbuf, recvbuf, op=MPI.SUM, comm=None, info=MPI.INFO_NULL):
        """Combines the operands of the ranks before this one; recvbuf of rank 0 stays as it is."""
        return self._init("exscan", comm, info, sendbuf, recvbuf, op)

    def Allreduce(self, sendbuf, recvbuf, op=MPI.SUM, comm=None):
        """Blocking Allreduce_init."""
        self._call("allreduce", comm, sendbuf, recvbuf, op)

    def Reduce(self, sendbuf, recvbuf, op=MPI.SUM, root=0, comm=None):
        """Blocking Reduce_init."""
        self._call("reduce", comm, sendbuf, recvbuf, op, root)

    def Bcast(self, buf, root=0, comm=None):
        """Blocking Bcast_init."""
        self._call("bcast", comm, buf, root)

    def Reduce_scatter(self, sendbuf, recvbuf, recvcounts, op=MPI.SUM, comm=None):
        """Blocking Reduce_scatter_init."""
        self._call("reduce_scatter", comm, sendbuf, recvbuf, recvcounts, op)

    def Reduce_scatter_block(self, sendbuf, recvbuf, op=MPI.SUM, comm=None):
        """Blocking Reduce_scatter_block_init."""
        self._call("reduce_scatter_block", comm, sendbuf, recvbuf, op)

    def Allgather(self, sendbuf, recvbuf, comm=None):
        """Blocking Allgather_init."""
        self._call("allgather", comm, sendbuf, recvbuf)

    def Allgatherv(self, sendbuf, recvbuf, comm=None):
        """Blocking Allgatherv_init."""
        self._call("allgatherv", comm, sendbuf, recvbuf)

    def Gather(self, sendbuf, recvbuf, root=0, comm=None):
        """Blocking Gather_init."""
        self._call("gather", comm, sendbuf, recvbuf, root)

    def Gatherv(self, sendbuf, recvbuf, root=0, comm=None):
        """Blocking Gatherv_init."""
        self._call("gatherv", comm, sendbuf, recvbuf, root)

    def Scatter(self, sendbuf, recvbuf, root=0, comm=None):
        """Blocking Scatter_init."""
        self._call("scatter", comm, sendbuf, recvbuf, root)

    def Scatterv(self, sendbuf, recvbuf, root=0, comm=None):
        """Blocking Scatterv_init."""
        self._call("scatterv", comm, sendbuf, recvbuf, root)

    def Barrier(self, comm=None):
        """Returns once all ranks have called it."""
        self._call("barrier", comm)

    def Scan(self, sendbuf, recvbuf, op=MPI.SUM, comm=None):
        """Blocking Scan_init."""
        self._call("scan", comm, sendbuf, recvbuf, op)

    def Exscan(self, sendbuf, recvbuf, op=MPI.SUM, comm=None):
        """Blocking Exscan_init."""
        self._call("exscan", comm, sendbuf, recvbuf, op)
