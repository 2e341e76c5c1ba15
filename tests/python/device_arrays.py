#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays on a device, as cupy and numba have them, with a stand-in for its driver (tests/devices)."""

import ctypes
import os

import numpy as np
from expect import expect, expect_equal, expect_error, finish
from mpi4py import MPI

import stoker

rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
driver = ctypes.CDLL(os.environ["STOKER_TEST_DRIVER"])


def call(name, *arguments):
    code = getattr(driver, name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name}: {code}")


class DeviceArray:
    """An array of numpy's on the device."""

    def __init__(self, values, **changes):
        self.values = np.ascontiguousarray(values)
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, self.values.nbytes)))
        self.address = address.value
        self.__cuda_array_interface__ = {"version": 3, "shape": self.values.shape, "typestr": self.values.dtype.str,
                                         "data": (self.address, False), "strides": None, "stream": None, **changes}
        self.set(self.values)

    def set(self, values):
        self.values[...] = values
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), self.values.ctypes.data_as(ctypes.c_void_p),
             ctypes.c_size_t(self.values.nbytes))

    def get(self):
        call("cuMemcpyDtoH_v2", self.values.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(self.address),
             ctypes.c_size_t(self.values.nbytes))
        return self.values


call("cuInit", 0)
context = ctypes.c_void_p()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxPushCurrent_v2", context)

with stoker.Engine(MPI.COMM_WORLD) as engine:
    for dtype in ("f4", "f8", "i4", "i8", "u2", "c16"):
        send, recv = DeviceArray(np.zeros((5, 200), dtype)), DeviceArray(np.zeros((5, 200), dtype))
        request = engine.Allreduce_init(send, recv)
        for epoch in (1, 2, 3):
            send.set(np.arange(1000).reshape(5, 200) % 100 + rank + epoch)
            recv.set(77)
            request.Start()
            request.Wait()
            expected = ranks * (np.arange(1000).reshape(5, 200) % 100 + epoch) + ranks * (ranks - 1) // 2
            expect_equal(f"{dtype}, epoch {epoch}", recv.get(), expected.astype(dtype))
        expect("where they are", request.Get_statistics()["send_access"] == "device")
        request.Free()
    # In the order of a stream, without a word of the host's in between.
    stream = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(stream), 1)
    send, recv = DeviceArray(np.zeros(1000, "i4")), DeviceArray(np.zeros(1000, "i4"))
    request = engine.Allreduce_init(send, recv)
    operands = [np.arange(1000, dtype="i4") + rank + epoch for epoch in range(3)]
    results = [np.full(1000, -1, "i4") for _ in operands]
    for operand, result in zip(operands, results):
        size = ctypes.c_size_t(operand.nbytes)
        call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(send.address), operand.ctypes.data_as(ctypes.c_void_p), size, stream)
        request.Start_on(stream.value)
        request.Wait_on(stream.value)
        call("cuMemcpyDtoHAsync_v2", result.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(recv.address), size, stream)
    call("cuStreamSynchronize", stream)
    for epoch, result in enumerate(results):
        expect_equal(f"in a stream, epoch {epoch}", result, ranks * (np.arange(1000) + epoch) + ranks * (ranks - 1) // 2)
    request.Free()
    call("cuStreamDestroy_v2", stream)
    # With a datatype, and on the device of one rank only.
    whole = DeviceArray(np.zeros(10 * ranks, "i4")) if rank == 0 else np.zeros(10 * ranks, "i4")
    engine.Allgather([np.full(10, rank, "i4"), 10, MPI.INT], [whole, 10, MPI.INT])
    expect_equal("Allgather", whole.get() if rank == 0 else whole, np.repeat(np.arange(ranks), 10))

    good = DeviceArray(np.zeros(12, "f8"))
    fortran = DeviceArray(np.zeros((3, 4), "f8"), strides=(8, 24))
    engine.Bcast(fortran, root=0)
    for array, error, part in (
            (DeviceArray(np.zeros((3, 4), "f8"), strides=(64, 8)), BufferError, "contiguous"),
            (DeviceArray(np.zeros(12, "f8"), data=(good.address, True)), BufferError, "read-only"),
            (DeviceArray(np.zeros(12, "f2")), TypeError, "no datatype"),
            ([DeviceArray(np.zeros(2, "f8")), 12, MPI.DOUBLE], ValueError, "expected at least")):
        expect_error(error, part, engine.Allgather, good, array)

    with stoker.GlobalMemory(engine, 4096) as memory:
        place = memory.Allocate(96)
        expect_error(TypeError, "local is on a device", memory.Put, place, good)
        expect_error(TypeError, "local is on a device", memory.Get_nb, good, place)

finish()
