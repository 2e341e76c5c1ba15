#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nonblocking collectives from Python, checked on every rank, for whatever implements MPI. Run under the launcher."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
failures = []


def expect(what, got, expected):
    if not np.array_equal(got, expected):
        failures.append(what)
        print(f"FAILED rank {rank}: {what}: {got} is not {expected}", file=sys.stderr)


def data(source, target, count, epoch):
    return np.arange(count, dtype="i8") * 3 + source * 1000003 + target * 1009 + epoch


def poisoned(count):
    return np.full(count, -1, dtype="i8")


def alltoall(count, epoch):
    out = np.concatenate([data(rank, to, count, epoch) for to in range(ranks)])
    into = poisoned(count * ranks)
    world.Ialltoall(out, into).Wait()
    expect("Ialltoall", into, np.concatenate([data(source, rank, count, epoch) for source in range(ranks)]))
    into = out.copy()
    world.Ialltoall(MPI.IN_PLACE, into).Wait()
    expect("Ialltoall in place", into, np.concatenate([data(source, rank, count, epoch) for source in range(ranks)]))


def alltoallv(count, epoch):
    def length(source, target):
        return 0 if count == 0 or (source + 2 * target) % 3 == 2 else count + source + 2 * target

    out = np.concatenate([data(rank, to, length(rank, to), epoch) for to in range(ranks)])
    into = poisoned(sum(length(source, rank) for source in range(ranks)))
    request = world.Ialltoallv([out, [length(rank, to) for to in range(ranks)]],
                               [into, [length(source, rank) for source in range(ranks)]])
    while not request.Test():
        pass
    expect("Ialltoallv", into,
           np.concatenate([data(source, rank, length(source, rank), epoch) for source in range(ranks)]))


def allreduce(count, epoch):
    out, into = data(rank, 0, count, epoch), poisoned(count)
    world.Iallreduce(out, into, MPI.SUM).Wait()
    total = sum(data(source, 0, count, epoch) for source in range(ranks))
    expect("Iallreduce", into, total)
    into = data(rank, 0, count, epoch)
    world.Iallreduce(MPI.IN_PLACE, into, MPI.SUM).Wait()
    expect("Iallreduce in place", into, total)


def own_operator(count, epoch):
    def add(left, right, _):
        operands = np.frombuffer(left, dtype="i8"), np.frombuffer(right, dtype="i8")
        operands[1][:] = operands[0] + operands[1]

    operator = MPI.Op.Create(add, commute=True)
    out, into = data(rank, 0, count, epoch), poisoned(count)
    world.Iallreduce(out, into, operator).Wait()
    operator.Free()
    expect("Iallreduce with an operator in Python", into, sum(data(source, 0, count, epoch) for source in range(ranks)))


def bcast(count, epoch):
    root = epoch % ranks
    buffer = data(root, 1, count, epoch) if rank == root else poisoned(count)
    world.Ibcast(buffer, root).Wait()
    expect("Ibcast", buffer, data(root, 1, count, epoch))


def allgather(count, epoch):
    out, into = data(rank, 2, count, epoch), poisoned(count * ranks)
    world.Iallgather(out, into).Wait()
    expect("Iallgather", into, np.concatenate([data(source, 2, count, epoch) for source in range(ranks)]))


def allgatherv(count, epoch):
    lengths = [0 if source % 3 == 2 else count + 2 * source for source in range(ranks)]
    out, into = data(rank, 3, lengths[rank], epoch), poisoned(sum(lengths))
    world.Iallgatherv(out, [into, lengths]).Wait()
    expect("Iallgatherv", into, np.concatenate([data(source, 3, lengths[source], epoch) for source in range(ranks)]))


def reduce_scatter(count, epoch):
    lengths = [count + to for to in range(ranks)]
    out, into = data(rank, 4, sum(lengths), epoch), poisoned(lengths[rank])
    world.Ireduce_scatter(out, into, lengths, MPI.SUM).Wait()
    total = sum(data(source, 4, sum(lengths), epoch) for source in range(ranks))
    expect("Ireduce_scatter", into, total[sum(lengths[:rank]):sum(lengths[:rank + 1])])


def neighbors(count, epoch, ring):
    sources, targets, _ = ring.Get_dist_neighbors()
    out = np.concatenate([data(rank, to, count, epoch) for to in targets])
    into = poisoned(count * len(sources))
    ring.Ineighbor_alltoall(out, into).Wait()
    expect("Ineighbor_alltoall", into, np.concatenate([data(source, rank, count, epoch) for source in sources]))


def several(count, epoch):
    """Messages and collectives in one Waitall, and the statuses of the messages."""
    left, right = (rank - 1) % ranks, (rank + 1) % ranks
    message, total, everything = poisoned(count), poisoned(count), poisoned(count * ranks)
    outs = [data(rank, target, count, epoch) for target in (0, 5, 2)]  # kept: requests do not do so
    requests = [
        world.Irecv(message, left, 5),
        world.Iallreduce(outs[0], total),
        world.Isend(outs[1], right, 5),
        world.Ibarrier(),
        world.Iallgather(outs[2], everything),
    ]
    statuses = [MPI.Status() for _ in requests]
    MPI.Request.Waitall(requests, statuses)
    expect("Waitall: handles", [request == MPI.REQUEST_NULL for request in requests], [True] * len(requests))
    expect("Waitall: status", [statuses[0].source, statuses[0].Get_count(MPI.INT64_T)], [left, count])
    expect("Waitall: message", message, data(left, 5, count, epoch))
    expect("Waitall: Iallreduce", total, sum(data(source, 0, count, epoch) for source in range(ranks)))
    expect("Waitall: Iallgather", everything, np.concatenate([data(source, 2, count, epoch) for source in range(ranks)]))


def main():
    ring = world.Create_dist_graph_adjacent([(rank - 1) % ranks], [(rank + 1) % ranks])
    for count in (3, 20000):
        for epoch in range(4):
            for try_one in (alltoall, alltoallv, allreduce, own_operator, bcast, allgather, allgatherv, reduce_scatter,
                            several):
                try_one(count, epoch)
            neighbors(count, epoch, ring)
    ring.Free()
    return 1 if failures else 0


sys.exit(main())
