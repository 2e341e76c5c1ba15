# SPDX-License-Identifier: BSD-3-Clause
"""Persistent requests."""

import ctypes

from mpi4py import MPI

from ._library import POINTER, call, pointer_type, told

# Requests that are active: the engine works on their buffers, also when the program has forgotten the request. Those whose
# completion failed stay here: processes that are alive may still write to their buffers.
_active = set()


def _array(requests):
    return (POINTER * len(requests))(*(request._handle for request in requests)), ctypes.c_int(len(requests))


class Request:
    """A persistent collective request, from a call such as Engine.Alltoall_init. It keeps its engine and its buffers.

    A request that is inactive is freed with the object; Free does so earlier. The buffers of an active one are kept until
    it is complete, whether or not the program keeps the object.
    """

    def __init__(self, function, arguments, engine, kept):
        self._handle = pointer_type()
        self._left_to_stream = False
        self._kept = (engine, kept)
        call(function, *arguments, ctypes.byref(self._handle))

    def __del__(self):
        if getattr(self, "_handle", None) and not MPI.Is_finalized():
            self.Free()

    def Start(self):
        """Starts an epoch. The buffers belong to stoker until Test or Wait says that it is complete."""
        call("start", self._handle)
        self._left_to_stream = False
        _active.add(self)

    def Start_on(self, stream):
        """Starts an epoch when a stream of the device gets there: an address, as cupy's stream.ptr."""
        call("start_on", self._handle, ctypes.c_void_p(stream))
        self._left_to_stream = False
        _active.add(self)

    def Test(self):
        """Whether the request is complete; it is inactive then."""
        return Request.Testall([self])

    def Wait(self):
        """Waits until the request is complete, and makes it inactive."""
        Request.Waitall([self])

    def Wait_on(self, stream):
        """What is put into the stream from now on comes after the epoch. The request is inactive once the stream can go on.

        Its buffers are kept until Wait, Test or Free says that this is so.
        """
        call("wait_on", self._handle, ctypes.c_void_p(stream))
        self._left_to_stream = True

    def Free(self):
        """Frees an inactive request. Its buffers are the program's again."""
        call("request_free", ctypes.byref(self._handle))
        if self._left_to_stream:
            _active.discard(self)
        if self not in _active:
            self._kept = None

    def Get_statistics(self):
        """What the request did since init, as a dictionary: the members of stoker_statistics."""
        return told("stoker_statistics", "request_statistics", self._handle)

    @staticmethod
    def Startall(requests):
        """Starts them in the order of the list, up to the first error."""
        for request in requests:
            request.Start()

    @staticmethod
    def Testall(requests):
        """Whether all are complete; all are inactive then."""
        handles, count = _array(requests)
        flag = ctypes.c_int()
        call("testall", count, handles, ctypes.byref(flag))
        if flag.value:
            _active.difference_update(requests)
        return bool(flag.value)

    @staticmethod
    def Waitall(requests):
        """Waits until all are complete, also behind one that fails."""
        handles, count = _array(requests)
        call("waitall", count, handles)
        _active.difference_update(requests)

    @staticmethod
    def Waitany(requests):
        """Waits until one is complete; its index, or MPI.UNDEFINED if none is active."""
        handles, count = _array(requests)
        index = ctypes.c_int(MPI.UNDEFINED)
        call("waitany", count, handles, ctypes.byref(index))
        if index.value != MPI.UNDEFINED:
            _active.discard(requests[index.value])
        return index.value
