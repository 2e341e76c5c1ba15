# SPDX-License-Identifier: BSD-3-Clause
"""What mpi4py calls a message: a buffer with counts and a datatype, as arguments for C.

A message is a buffer, or a list: [buffer, datatype], [buffer, counts, datatype], [buffer, counts, displacements, datatype] or
[buffer, (counts, displacements), datatype]. Counts are in elements; without them the whole buffer is meant. A buffer is
anything with Python's buffer protocol, or an array of a CUDA device (__cuda_array_interface__). Without a datatype its own
format tells it.
"""

import ctypes
import math
import sys

from mpi4py import MPI

from ._library import POINTER, handle

COUNT = ctypes.c_int64  # MPI_Count, and MPI_Aint

DATATYPES = {
    "?": MPI.C_BOOL, "c": MPI.CHAR, "b": MPI.SIGNED_CHAR, "B": MPI.UNSIGNED_CHAR, "h": MPI.SHORT, "H": MPI.UNSIGNED_SHORT, "i": MPI.INT,
    "I": MPI.UNSIGNED, "l": MPI.LONG, "L": MPI.UNSIGNED_LONG, "q": MPI.LONG_LONG, "Q": MPI.UNSIGNED_LONG_LONG, "f": MPI.FLOAT,
    "d": MPI.DOUBLE, "g": MPI.LONG_DOUBLE, "Zf": MPI.C_FLOAT_COMPLEX, "Zd": MPI.C_DOUBLE_COMPLEX, "Zg": MPI.C_LONG_DOUBLE_COMPLEX,
}
NATIVE = "@=<" if sys.byteorder == "little" else "@=>"


def datatype_of(view, name):
    code = view.format.lstrip(NATIVE)
    if code not in DATATYPES:
        raise TypeError(f"{name}: no datatype for elements of the format {view.format!r}; expected [buffer, datatype]")
    return DATATYPES[code]


# Kinds and sizes of elements as __cuda_array_interface__ names them, and as the buffer protocol does.
FORMATS = {
    "b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f4": "f", "f8": "d", "c8": "Zf",
    "c16": "Zd",
}


class DeviceView:
    """What is asked of a memoryview, of an array of a CUDA device."""

    def __init__(self, owner):
        described = owner.__cuda_array_interface__
        kind = described["typestr"]
        self.owner = owner
        self.address, self.readonly = described["data"]
        self.format = kind[0].replace("|", "@") + FORMATS.get(kind[1:], kind[1:])
        shape, size = described["shape"], int(kind[2:])
        self.nbytes = size * math.prod(shape)
        self.contiguous = described.get("strides") in (None, strides(shape, size), strides(shape[::-1], size)[::-1])


def strides(shape, size):
    """Of an array whose last index counts fastest."""
    return tuple(size * math.prod(shape[i + 1:]) for i in range(len(shape)))


def contiguous(buffer, name, writable):
    """A view of the buffer, which keeps it alive and at its address."""
    try:
        view = DeviceView(buffer) if hasattr(buffer, "__cuda_array_interface__") else memoryview(buffer)
    except TypeError:
        raise TypeError(f"{name} is of type {type(buffer).__name__}; expected a buffer, such as an array of numpy's") from None
    if not view.contiguous:
        raise BufferError(f"{name} is not contiguous; expected a contiguous buffer")
    if writable and view.readonly:
        raise BufferError(f"{name} is read-only; expected a writable buffer")
    return view


def on_host(view, name):
    if isinstance(view, DeviceView):
        raise TypeError(f"{name} is on a device; expected a buffer in the memory of the host")
    return view


def address_of(view):
    if isinstance(view, DeviceView):
        return POINTER(view.address if view.nbytes > 0 else None)
    return POINTER(MPI.Get_address(view) if view.nbytes > 0 else None)


class Message:
    """A buffer in use: `view` keeps it, `address` and `datatype` are for C."""

    def __init__(self, message, name, writable):
        self.name = name
        self.in_place = message is MPI.IN_PLACE
        self.absent = message is None
        self.counts = self.displacements = None
        if self.in_place or self.absent:
            self.view, self.type = None, MPI.BYTE
            self.address = POINTER(int(MPI.IN_PLACE) if self.in_place else None)
        else:
            parts = list(message) if isinstance(message, (list, tuple)) else [message]
            self._read(parts, writable)
            self.address = address_of(self.view)
        self.datatype = handle(self.type)

    def _read(self, parts, writable):
        self.view = contiguous(parts[0] if parts else None, self.name, writable)
        self.type = parts.pop() if len(parts) > 1 and isinstance(parts[-1], MPI.Datatype) else datatype_of(self.view, self.name)
        between = parts[1:]
        if len(between) == 1 and isinstance(between[0], tuple):
            between = list(between[0])
        if len(between) > 2:
            raise ValueError(f"{self.name} has {len(between)} parts between buffer and datatype; expected counts and displacements")
        self.counts = between[0] if between else None
        self.displacements = between[1] if len(between) == 2 else None

    def check(self, elements):
        """Refuses more elements than the buffer holds."""
        lower, extent = self.type.Get_true_extent()
        needed = lower + extent + (elements - 1) * self.type.Get_extent()[1] if elements > 0 else 0
        if needed > self.view.nbytes:
            raise ValueError(f"{self.name} has {self.view.nbytes} bytes; expected at least {needed}")

    def _elements(self):
        extent = self.type.Get_extent()[1]
        return self.view.nbytes // extent if extent > 0 else 0

    def count(self, blocks=1):
        """Elements of each of so many equal blocks."""
        if self.in_place or self.absent:
            return COUNT(0)
        if self.displacements is not None:
            raise ValueError(f"{self.name} has displacements; expected one count")
        if self.counts is not None:
            count = int(self.counts)
        elif blocks == 0 or self._elements() % blocks == 0:
            count = self._elements() // max(blocks, 1)
        else:
            raise ValueError(f"{self.name} has {self._elements()} elements; expected a multiple of {blocks}, the number of blocks")
        self.check(count * blocks)
        return COUNT(count)

    def vector(self, blocks):
        """Arrays of counts and displacements of so many blocks; one behind the other if the message does not say."""
        if self.in_place or self.absent:
            return array([0] * blocks), array([0] * blocks)
        if self.counts is None:
            whole = self.count(blocks).value
            counts = [whole] * blocks
        else:
            counts = [int(count) for count in self.counts]
        if self.displacements is None:
            displacements = [sum(counts[:i]) for i in range(len(counts))]
        else:
            displacements = [int(displacement) for displacement in self.displacements]
        for what, numbers in (("counts", counts), ("displacements", displacements)):
            if len(numbers) != blocks:
                raise ValueError(f"{self.name} has {len(numbers)} {what}; expected {blocks}")
        if any(displacement < 0 for displacement in displacements):
            raise ValueError(f"{self.name} has a negative displacement; expected 0 or more")
        self.check(max((at + count for at, count in zip(displacements, counts) if count > 0), default=0))
        return array(counts), array(displacements)


def check_alike(*messages):
    """Refuses messages of different datatypes: C takes one for all of them."""
    for message in messages[1:]:
        if message.type != messages[0].type:
            raise ValueError(f"{messages[0].name} and {message.name} have different datatypes; expected the same")


def array(numbers):
    return (COUNT * len(numbers))(*numbers)


def sent(message, name="sendbuf"):
    return Message(message, name, writable=False)


def received(message, name="recvbuf"):
    return Message(message, name, writable=True)
