#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Global memory from Python: puts, gets, signals and atomics to the right neighbor, three times with fresh data."""

import numpy as np
from expect import expect, expect_equal, expect_error, finish
from mpi4py import MPI

import stoker

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
left, right = (rank - 1) % ranks, (rank + 1) % ranks
N = 1000


def row_of(unit, epoch):
    return np.arange(N, dtype="i8") + unit * 100000 + epoch * 10000


def put(memory, row, flag, data, epoch):
    """In another way each time."""
    if epoch == 1:
        memory.Put(row.at(right), data)
        memory.Put(flag.at(right), np.array([epoch], "u8"))
    elif epoch == 2:
        transfer = memory.Put_signal_nb(row.at(right), data, flag.at(right), epoch)
        while not transfer.Test():
            pass
        transfer.Wait()  # complete, as before
    else:
        memory.Put_signal_nb(row.at(right), data.copy(), flag.at(right), epoch)  # nobody else keeps transfer and buffer
        memory.Flush(right)


def exchange(memory, team):
    row, flag, counter = team.Allocate(8 * N), team.Allocate(8), team.Allocate(8)
    result = np.zeros(1, "i8")
    for epoch in (1, 2, 3):
        put(memory, row, flag, row_of(rank, epoch), epoch)
        memory.Wait_until(flag.at(rank), stoker.GE, epoch)
        expect_equal("row from the left", np.frombuffer(memory.View(row.at(rank), 8 * N), "i8"), row_of(left, epoch))
        world.Barrier()
        fetched = np.full(N, -1, "i8")
        half = 4 * N
        transfers = [memory.Get_nb(fetched[:N // 2], row.at(right)), memory.Get_nb(fetched[N // 2:], row.at(right) + half)]
        stoker.Transfer.Waitall(transfers)
        expect_equal("what was put at the right", fetched, row_of(rank, epoch))

        memory.Fetch_and_op(counter.at(0), np.ones(1, "i8"), result)
        expect("Fetch_and_op", (epoch - 1) * ranks <= result[0] < epoch * ranks)
        world.Barrier()
        memory.Get(result, counter.at(0))
        expect_equal("sum of all", result, [epoch * ranks])
        world.Barrier()
    memory.Compare_and_swap(counter.at(0), np.array([-1]), np.array([0]), result)
    expect_equal("Compare_and_swap of another value", result, [3 * ranks])
    world.Barrier()
    memory.Accumulate(counter.at(0), np.array([2]))
    world.Barrier()
    memory.Get(result, counter.at(0))
    expect_equal("Accumulate", result, [5 * ranks])


def atomics_together(memory, team):
    """Nonblocking ones, and many in one call: on an own element of unit 0 for each rank."""
    elements = team.Allocate(8 * ranks).at(0)
    mine = elements + 8 * rank
    result = np.full(3, -1, "i8")
    transfers = [memory.Fetch_and_op_nb(mine, np.array([5]), result[:1])]
    transfers[0].Wait()
    memory.Accumulate_nb(mine, np.array([2]))  # nobody else keeps the operand
    memory.Flush(0)
    memory.Compare_and_swap_nb(mine, np.array([7]), np.array([9]), result[1:2]).Wait()
    memory.Get(result[2:], mine)
    expect_equal("nonblocking atomics", result, [0, 7, 9])
    memory.Accumulate_many([mine, mine], np.array([10, 20]))
    memory.Fetch_and_op_many([mine, mine], np.array([1, 1]), result[:2])
    expect_equal("many atomics", sorted(result[:2]), [39, 40])
    expect_error(ValueError, "operands has 8 bytes; expected at least 16", memory.Accumulate_many, [mine, mine], np.array([1]))
    world.Barrier()


def errors(memory, team):
    row = team.Allocate(8)
    expect_error(stoker.Error, "unit", memory.Put, row.at(ranks), np.zeros(1), code=stoker.ERR_ARGUMENT)
    expect_error(stoker.Error, "", memory.Put, row.at(rank) + 4, np.zeros(1), code=stoker.ERR_ARGUMENT)
    expect_error(BufferError, "local is read-only; expected a writable buffer", memory.Get, bytes(8), row.at(rank))
    expect_error(BufferError, "local is not contiguous", memory.Put_nb, row.at(rank), np.zeros(4)[::2])
    expect_error(ValueError, "result has 0 bytes; expected at least 8", memory.Fetch_and_op, row.at(0), np.zeros(1), np.zeros(0))
    whole, real = np.zeros(1, "i8"), np.zeros(1)
    expect_error(ValueError, "operand and result have different datatypes", memory.Fetch_and_op, row.at(0), real, whole)
    expect_error(ValueError, "expected and desired have different datatypes", memory.Compare_and_swap, row.at(0), whole, real, whole)
    expect_error(ValueError, "expected and result have different datatypes", memory.Compare_and_swap, row.at(0), whole, whole, real)
    expect_error(ValueError, "operands and results have different datatypes", memory.Fetch_and_op_many, [row.at(0)], real, whole)
    expect_error(stoker.Error, "type is none that atomics take", memory.Accumulate, row.at(0), np.zeros(1, "i2"), code=stoker.ERR_ARGUMENT)
    world.Barrier()


with stoker.Engine(world, log="error") as engine, stoker.GlobalMemory(engine, 4096) as made:
    units = stoker.Team(made, world)
    expect_equal("the team", [units.Get_size(), units.Get_rank(), units.Get_unit(rank)], [ranks, rank, rank])
    exchange(made, units)
    atomics_together(made, units)
    errors(made, units)
    own = made.Allocate(64)
    expect_equal("own allocation", [own.unit, own.segment], [rank, 0])
    made.Deallocate(own)
    made.Flush_all()
    expect("statistics", sum(made.Get_statistics().values()) > 0)
    units.Free()
finish()
