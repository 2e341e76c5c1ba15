#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which buffers are accepted, how long they live, and what errors say."""

import array
import gc
import weakref

import numpy as np
from expect import expect, expect_equal, expect_error, finish
from mpi4py import MPI

import stoker

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size


def kinds(engine):
    """Buffers that are no arrays of numpy's; datatypes; layouts of arrays."""
    for make in (lambda: array.array("d", [rank]), lambda: bytearray(np.array([rank], "d").tobytes()),
                 lambda: np.array([rank], "d"), lambda: np.full((1, 1), rank, "d", order="F")):
        send, recv = make(), make()
        engine.Allreduce([send, MPI.DOUBLE], [recv, MPI.DOUBLE], MPI.MAX)
        expect_equal(f"maximum in {type(send).__name__}", np.frombuffer(np.asarray(recv).tobytes(), "d"), [ranks - 1])
    for code in ("b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "f", "d", "F", "D", "g"):
        send, recv = np.array([rank + 1], code), np.zeros(1, code)
        engine.Allreduce(send, recv)
        expect_equal(f"sum of {code}", recv, np.array([ranks * (ranks + 1) / 2], code))
    grid = np.asfortranarray(np.arange(12.0).reshape(3, 4) + rank)
    recv = np.zeros_like(grid)
    engine.Allreduce(grid, recv, MPI.MAX)
    expect_equal("array in Fortran's order", recv, np.arange(12.0).reshape(3, 4) + ranks - 1)
    engine.Allreduce(bytes([rank]), bytearray(1))  # what is only read may be read-only
    empty = np.zeros(0)
    engine.Allreduce(empty, empty)


def memory(engine):
    block = np.frombuffer(engine.Alloc(8 * ranks), "i8")
    recv = np.frombuffer(engine.Alloc(8 * ranks), "i8")
    request = engine.Alltoall_init(block, recv)
    for epoch in (1, 2, 3):
        block[:] = np.arange(ranks) + 100 * rank + 1000 * epoch
        recv[:] = -1
        request.Start()
        request.Wait()
        expect_equal("from memory of the engine's", recv, np.arange(ranks) * 100 + rank + 1000 * epoch)


def lifetimes(engine):
    def buffer():
        made = np.full(ranks, rank, "i8").view(type("Watched", (np.ndarray,), {}))
        return made, weakref.ref(made)

    send, send_alive = buffer()
    recv, recv_alive = buffer()
    request = engine.Alltoall_init(send, recv)
    del send, recv
    gc.collect()
    expect("a request keeps its buffers", send_alive() is not None and recv_alive() is not None)
    kept = recv_alive()
    kept[:] = -1
    request.Start()
    del request
    gc.collect()
    expect("an active request keeps its buffers, though nobody keeps it", send_alive() is not None)
    world.Barrier()
    engine.Barrier()

    resizable = bytearray(8 * ranks)
    request = engine.Alltoall_init([resizable, MPI.INT64_T], np.zeros(ranks, "i8"))
    expect_error(BufferError, "", resizable.extend, b"longer")
    request.Free()
    resizable.extend(b"longer")

    send, send_alive = buffer()
    request = engine.Alltoall_init(send, np.zeros(ranks, "i8"))
    del send, request
    gc.collect()
    expect("an inactive request goes with its buffers", send_alive() is None)


def refusals(engine):
    numbers, two = np.zeros(ranks), np.zeros(2)
    expect_error(BufferError, "sendbuf is not contiguous; expected a contiguous buffer", engine.Alltoall_init, np.zeros(2 * ranks + 2)[::2], numbers)
    expect_error(BufferError, "recvbuf is read-only; expected a writable buffer", engine.Allreduce, numbers, bytes(8 * ranks))
    expect_error(TypeError, "sendbuf is of type int; expected a buffer", engine.Allreduce, 3, numbers)
    expect_error(TypeError, "expected [buffer, datatype]", engine.Allreduce, np.zeros(1, "f2"), np.zeros(1, "f2"))
    expect_error(ValueError, "sendbuf has 16 bytes; expected at least 24", engine.Allreduce, [two, 3, MPI.DOUBLE], numbers)
    expect_error(ValueError, "expected at least 16", engine.Allreduce, two, np.zeros(1))
    expect_error(ValueError, "different datatypes", engine.Allreduce, two, np.zeros(2, "f4"))
    expect_error(ValueError, "different datatypes", engine.Reduce_scatter, numbers, np.zeros(1, "f4"), [1] * ranks)
    expect_error(stoker.Error, "MPI_COMM_NULL", engine.Barrier, MPI.COMM_NULL, code=stoker.ERR_ARGUMENT)
    expect_error(stoker.Error, "MPI_COMM_NULL", engine.Barrier_init, MPI.COMM_NULL, code=stoker.ERR_ARGUMENT)
    expect_error(ValueError, f"sendbuf has {ranks + 1} counts; expected {ranks}", engine.Alltoallv_init, [numbers, [0] * (ranks + 1), MPI.DOUBLE],
                 numbers)
    expect_error(ValueError, "negative displacement", engine.Alltoallv_init, [numbers, [1] * ranks, [-1] * ranks, MPI.DOUBLE], numbers)
    if ranks > 1:
        expect_error(ValueError, "expected a multiple of", engine.Alltoall_init, np.zeros(ranks + 1), numbers)
    expect_error(stoker.Error, "count", engine.Allreduce_init, [two, -1, MPI.DOUBLE], two.copy(), code=stoker.ERR_ARGUMENT)
    expect_error(stoker.Error, "root", engine.Bcast_init, two, root=ranks, code=stoker.ERR_ARGUMENT)
    expect_error(stoker.Error, "topology", engine.Neighbor_alltoall_init, np.zeros(0), np.zeros(0), code=stoker.ERR_ARGUMENT)
    expect_error(stoker.Error, "carrier-pigeon", stoker.Engine, world, executor="carrier-pigeon", code=stoker.ERR_SETTING)
    request = engine.Bcast_init(two)
    request.Start()
    expect_error(stoker.Error, "", request.Free, code=stoker.ERR_STATE)
    request.Wait()
    request.Free()
    expect_error(stoker.Error, "request", request.Start, code=stoker.ERR_REQUEST)
    expect("texts of codes", len({stoker.error_string(code) for code in range(12)}) == 12)


with stoker.Engine(world, log="error") as made:
    for part in (kinds, memory, lifetimes, refusals):
        part(made)
expect_error(stoker.Error, "engine", made.Pause, code=stoker.ERR_REQUEST)
finish()
