# SPDX-License-Identifier: BSD-3-Clause
"""Global memory: memory that all ranks of an engine, the units, reach with put, get and atomics."""

import ctypes

from mpi4py import MPI

from ._buffers import address_of, check_alike, contiguous, on_host, received, sent
from ._library import SIZE, call, fields, handle, pointer_type, told


class GlobalPointer(ctypes.Structure):
    """A global pointer: `unit`, `segment` and `offset` in bytes. pointer + n is n bytes further; at(unit) is another unit's."""

    _fields_ = fields("stoker_gptr")

    def __add__(self, nbytes):
        return GlobalPointer(self.unit, self.segment, self.offset + nbytes)

    def at(self, unit):
        return GlobalPointer(unit, self.segment, self.offset)

    def __repr__(self):
        return f"GlobalPointer(unit={self.unit}, segment={self.segment}, offset={self.offset})"


class Transfer:
    """A put, get or atomic that was begun. Its buffers are kept until it is complete, whether or not the program keeps the object."""

    def __init__(self, memory, kept):
        self._handle = pointer_type()
        self._memory, self._kept = memory, kept

    def __del__(self):
        if self._handle and not MPI.Is_finalized():
            self.Wait()

    def Test(self):
        """Whether the transfer is complete."""
        flag = ctypes.c_int()
        call("transfer_test", ctypes.byref(self._handle), ctypes.byref(flag))
        if flag.value:
            self._memory._transfers.pop(self, None)
        return bool(flag.value)

    def Wait(self):
        """Waits until it is complete."""
        call("transfer_wait", ctypes.byref(self._handle))
        self._memory._transfers.pop(self, None)

    @staticmethod
    def Waitall(transfers):
        """Waits until all are complete."""
        for transfer in transfers:
            transfer.Wait()


def local_view(local, writable):
    return on_host(contiguous(local, "local", writable), "local")


# Arguments of atomics behind the memory, and what they refer to.


def _fetching(target, operand, result, op):
    operand, result = sent(operand, "operand"), received(result, "result")
    check_alike(operand, result)
    for message in (operand, result):
        on_host(message.view, message.name)
        message.check(1)
    return [target, result.datatype, handle(op), operand.address, result.address], (operand, result)


def _swapping(target, expected, desired, result):
    messages = sent(expected, "expected"), sent(desired, "desired"), received(result, "result")
    check_alike(*messages)
    for message in messages:
        on_host(message.view, message.name)
        message.check(1)
    return [target, messages[2].datatype, *(message.address for message in messages)], messages


def _accumulating(target, operands, op):
    operands = sent(operands, "operands")
    on_host(operands.view, operands.name)
    return [target, operands.datatype, handle(op), operands.address, SIZE(operands.count().value)], operands


class GlobalMemory:
    """A global memory over all units of an engine. Collective. heap_bytes: what Allocate can give on each unit.

    Use it in a with statement, or call Free: both are collective.
    """

    def __init__(self, engine, heap_bytes=0):
        self._handle = pointer_type()
        self._engine = engine
        self._transfers = {}  # those under way -> the unit at the other end
        call("global_create", engine._handle, SIZE(heap_bytes), ctypes.byref(self._handle))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.Free()

    def Free(self):
        """Frees the memory with its teams; the caller's transfers are completed first. Collective."""
        call("global_free", ctypes.byref(self._handle))
        self._transfers.clear()

    def Allocate(self, nbytes):
        """Memory of the calling unit only, zero, as a GlobalPointer."""
        pointer = GlobalPointer()
        call("global_allocate", self._handle, SIZE(nbytes), ctypes.byref(pointer))
        return pointer

    def Deallocate(self, pointer):
        """Gives it back."""
        call("global_deallocate", self._handle, pointer)

    def View(self, pointer, nbytes):
        """The bytes at the pointer as a buffer to load and store; None if they are on another node.

        The buffer is valid until the memory is freed, and must not be used after that.
        """
        address = pointer_type()
        call("global_address", self._handle, pointer, SIZE(nbytes), ctypes.byref(address))
        return None if address.value is None else (ctypes.c_ubyte * nbytes).from_address(address.value)

    def Put(self, target, local):
        """Copies a buffer to the target. The data are there on return."""
        view = local_view(local, writable=False)
        call("put", self._handle, target, address_of(view), SIZE(view.nbytes))

    def Get(self, local, source):
        """Fills a buffer from the source."""
        view = local_view(local, writable=True)
        call("get", self._handle, address_of(view), source, SIZE(view.nbytes))

    def Put_nb(self, target, local):
        """Begins a put. The buffer must not be changed until the Transfer is complete."""
        view = local_view(local, writable=False)
        return self._begin("put_nb", target.unit, view, target, address_of(view), SIZE(view.nbytes))

    def Get_nb(self, local, source):
        """Begins a get. The buffer must not be touched until the Transfer is complete."""
        view = local_view(local, writable=True)
        return self._begin("get_nb", source.unit, view, address_of(view), source, SIZE(view.nbytes))

    def Put_signal_nb(self, target, local, signal, value):
        """Begins a put; once the data are there, the 8-byte word `signal` of the same unit is set to `value`."""
        view = local_view(local, writable=False)
        return self._begin("put_signal_nb", target.unit, view, target, address_of(view), SIZE(view.nbytes), signal, ctypes.c_uint64(value))

    def _begin(self, function, unit, kept, *arguments):
        transfer = Transfer(self, kept)
        call(function, self._handle, *arguments, ctypes.byref(transfer._handle))
        if transfer._handle:
            self._transfers[transfer] = unit
        return transfer

    def Wait_until(self, word, comparison, value):
        """Waits until an 8-byte word on this node compares with the value: EQ, NE, GT, GE, LT, LE."""
        call("wait_until", self._handle, word, ctypes.c_int(comparison), ctypes.c_uint64(value))

    def Flush(self, unit):
        """Completes the caller's transfers to and from a unit."""
        call("flush", self._handle, ctypes.c_int(unit))
        self._transfers = {transfer: other for transfer, other in self._transfers.items() if other != unit}

    def Flush_all(self):
        """Completes all transfers of the caller."""
        call("flush_all", self._handle)
        self._transfers.clear()

    def Fetch_and_op(self, target, operand, result, op=MPI.SUM):
        """Replaces the element at the target by `element op operand`; `result` gets what it was."""
        call("fetch_and_op", self._handle, *_fetching(target, operand, result, op)[0])

    def Compare_and_swap(self, target, expected, desired, result):
        """Replaces the element at the target by `desired` if it equals `expected`; `result` gets what it was."""
        call("compare_and_swap", self._handle, *_swapping(target, expected, desired, result)[0])

    def Accumulate(self, target, operands, op=MPI.SUM):
        """Combines consecutive elements with as many operands, each atomically."""
        call("accumulate", self._handle, *_accumulating(target, operands, op)[0])

    def Fetch_and_op_nb(self, target, operand, result, op=MPI.SUM):
        """Begins a Fetch_and_op. `result` is set when the Transfer is complete."""
        arguments, kept = _fetching(target, operand, result, op)
        return self._begin("fetch_and_op_nb", target.unit, kept, *arguments)

    def Compare_and_swap_nb(self, target, expected, desired, result):
        """Begins a Compare_and_swap. `result` is set when the Transfer is complete."""
        arguments, kept = _swapping(target, expected, desired, result)
        return self._begin("compare_and_swap_nb", target.unit, kept, *arguments)

    def Accumulate_nb(self, target, operands, op=MPI.SUM):
        """Begins an Accumulate. The operands must not be changed until the Transfer is complete."""
        arguments, kept = _accumulating(target, operands, op)
        return self._begin("accumulate_nb", target.unit, kept, *arguments)

    def Accumulate_many(self, targets, operands, op=MPI.SUM):
        """Updates the element targets[i] by operands[i], for all i, in no order."""
        pointers, operands = (GlobalPointer * len(targets))(*targets), sent(operands, "operands")
        on_host(operands.view, operands.name)
        operands.check(len(targets))
        call("accumulate_many", self._handle, pointers, operands.datatype, handle(op), operands.address, SIZE(len(targets)))

    def Fetch_and_op_many(self, targets, operands, results, op=MPI.SUM):
        """The same; results[i] gets what the element targets[i] was."""
        pointers, operands, results = (GlobalPointer * len(targets))(*targets), sent(operands, "operands"), received(results, "results")
        check_alike(operands, results)
        for message in (operands, results):
            on_host(message.view, message.name)
            message.check(len(targets))
        call("fetch_and_op_many", self._handle, pointers, results.datatype, handle(op), operands.address, results.address, SIZE(len(targets)))

    def Get_statistics(self):
        """What the calling unit transferred, as a dictionary: the members of stoker_global_statistics."""
        return told("stoker_global_statistics", "global_get_statistics", self._handle)


class Team:
    """The units that allocate together. Collective over `comm`, whose ranks are all units of `memory`."""

    def __init__(self, memory, comm=MPI.COMM_WORLD):
        self._handle = pointer_type()
        self._memory = memory
        call("team_create", memory._handle, handle(comm), ctypes.byref(self._handle))

    def Free(self):
        """Frees the team with its allocations. Collective. GlobalMemory.Free does so, too."""
        call("team_free", ctypes.byref(self._handle))

    def _number(self, function, *arguments):
        number = ctypes.c_int()
        call(function, self._handle, *arguments, ctypes.byref(number))
        return number.value

    def Get_size(self):
        """Number of units."""
        return self._number("team_size")

    def Get_rank(self):
        """The caller's number in the team."""
        return self._number("team_rank")

    def Get_unit(self, rank):
        """The unit with that number in the team."""
        return self._number("team_unit", ctypes.c_int(rank))

    def Allocate(self, nbytes):
        """So many bytes on every unit of the team, zero: a pointer to the first unit's. Collective."""
        pointer = GlobalPointer()
        call("team_allocate", self._handle, SIZE(nbytes), ctypes.byref(pointer))
        return pointer

    def Deallocate(self, pointer):
        """Frees such memory. Collective."""
        call("team_deallocate", self._handle, pointer)
