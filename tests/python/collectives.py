#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every collective from Python: persistent, three epochs with fresh data and poisoned results; and blocking."""

import numpy as np
from expect import expect, expect_equal, finish
from mpi4py import MPI

import stoker

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
root = ranks - 1
N, POISON = 3, -7


def sent(source, epoch):
    """What a rank sends: `ranks` blocks of N numbers."""
    return source * 100 + np.arange(N * ranks, dtype="i4") + epoch * 10000


def blocks(source, epoch):
    return sent(source, epoch).reshape(ranks, N)


def total(epoch, first=0, last=ranks):
    return sum((sent(source, epoch) for source in range(first, last)), np.zeros(N * ranks, "i4"))


def transposed(epoch):
    return np.concatenate([blocks(source, epoch)[rank] for source in range(ranks)])


def gathered(epoch):
    return np.concatenate([sent(source, epoch)[:N] for source in range(ranks)])


def at_root(expected):
    return lambda epoch: expected(epoch) if rank == root else np.full(0, POISON)


def three_epochs(name, make, expected, in_place=False):
    """make(send, recv) gives the request; `expected` of the epoch's data has to be at the beginning of recv."""
    send, recv = np.zeros(N * ranks, "i4"), np.zeros(N * ranks, "i4")
    request = make(send, recv)
    for epoch in (1, 2, 3):
        send[:] = sent(rank, epoch)
        recv[:] = send if in_place else POISON
        request.Start()
        if epoch == 2:
            while not request.Test():
                pass
        request.Wait()
        wanted = expected(epoch)
        expect_equal(f"{name}, epoch {epoch}", recv[:wanted.size], wanted)
        if wanted.size == 0:
            expect_equal(f"{name}, epoch {epoch}, not at the root", recv, np.full(recv.size, POISON))
    request.Free()


def persistent(engine):
    counts, reverse = [N] * ranks, [N * (ranks - 1 - i) for i in range(ranks)]
    three_epochs("Alltoall", engine.Alltoall_init, transposed)
    three_epochs("Alltoall in place", lambda _, recv: engine.Alltoall_init(MPI.IN_PLACE, recv), transposed, in_place=True)
    three_epochs("Alltoallv", engine.Alltoallv_init, transposed)
    three_epochs("Alltoallv, reverse",
                 lambda send, recv: engine.Alltoallv_init([send, counts, reverse, MPI.INT], [recv, (counts, reverse)]),
                 lambda epoch: np.concatenate([blocks(source, epoch)[ranks - 1 - rank] for source in reversed(range(ranks))]))
    three_epochs("Allreduce", engine.Allreduce_init, total)
    three_epochs("Allreduce in place", lambda _, recv: engine.Allreduce_init(MPI.IN_PLACE, recv), total, in_place=True)
    three_epochs("Allreduce, maximum", lambda send, recv: engine.Allreduce_init([send, N, MPI.INT], recv, MPI.MAX),
                 lambda epoch: sent(ranks - 1, epoch)[:N])
    three_epochs("Reduce", lambda send, recv: engine.Reduce_init(send, recv, root=root), at_root(total))
    three_epochs("Bcast", lambda _, recv: engine.Bcast_init(recv, root), lambda epoch: sent(root, epoch), in_place=True)
    three_epochs("Reduce_scatter", lambda send, recv: engine.Reduce_scatter_init(send, recv, counts),
                 lambda epoch: total(epoch).reshape(ranks, N)[rank])
    three_epochs("Reduce_scatter_block", lambda send, recv: engine.Reduce_scatter_block_init(send, recv[:N]),
                 lambda epoch: total(epoch).reshape(ranks, N)[rank])
    three_epochs("Allgather", lambda send, recv: engine.Allgather_init(send[:N], recv), gathered)
    three_epochs("Allgatherv", lambda send, recv: engine.Allgatherv_init(send[:N], [recv, counts, reverse, MPI.INT]),
                 lambda epoch: gathered(epoch).reshape(ranks, N)[::-1].reshape(-1))
    three_epochs("Gather", lambda send, recv: engine.Gather_init(send[:N], recv, root), at_root(gathered))
    three_epochs("Gatherv", lambda send, recv: engine.Gatherv_init(send[:N], [recv, counts], root), at_root(gathered))
    three_epochs("Scatter", lambda send, recv: engine.Scatter_init(send if rank == root else None, recv[:N], root),
                 lambda epoch: blocks(root, epoch)[rank])
    three_epochs("Scatterv", lambda send, recv: engine.Scatterv_init([send, counts, reverse, MPI.INT], recv[:N], root),
                 lambda epoch: blocks(root, epoch)[ranks - 1 - rank])
    three_epochs("Scan", engine.Scan_init, lambda epoch: total(epoch, 0, rank + 1))
    three_epochs("Exscan", engine.Exscan_init, lambda epoch: total(epoch, 0, rank) if rank > 0 else np.full(N, POISON))


def neighbors(engine):
    if ranks < 2:
        return  # the buffers hold two blocks elsewhere
    ring = world.Create_cart([ranks], periods=[True])
    left, right = (rank - 1) % ranks, (rank + 1) % ranks

    def from_both(epoch):
        return np.concatenate([blocks(left, epoch)[1], blocks(right, epoch)[0]])

    three_epochs("Neighbor_alltoall", lambda send, recv: engine.Neighbor_alltoall_init(send[:2 * N], recv[:2 * N], comm=ring), from_both)
    three_epochs("Neighbor_alltoallv", lambda send, recv: engine.Neighbor_alltoallv_init([send, [N, N], MPI.INT], [recv, [N, N]], comm=ring),
                 from_both)
    ring.Free()


def several(engine):
    recv = np.zeros(N, "i4")
    requests = [engine.Barrier_init(), engine.Bcast_init(recv, root)]
    for epoch in (1, 2, 3):
        recv[:] = sent(rank, epoch)[:N]
        requests[1].Start()
        expect_equal("Waitany", stoker.Request.Waitany(requests), 1)
        expect_equal("broadcast", recv, sent(root, epoch)[:N])
        expect_equal("Waitany of none", stoker.Request.Waitany(requests), MPI.UNDEFINED)
        stoker.Request.Startall(requests)
        while not stoker.Request.Testall(requests):
            pass
        stoker.Request.Waitall(requests)
    statistics = requests[1].Get_statistics()
    expect_equal("starts", statistics["starts"], 6)
    expect("an algorithm's name", len(statistics["algorithm"]) > 0)
    expect_equal("ranks", engine.Get_facts()["ranks"], ranks)
    expect("rounds of the helper", engine.Get_helper_statistics()["busy_rounds"] >= 0)
    engine.Pause()
    engine.Resume()
    engine.Trace_begin("region")
    engine.Trace_end()


def blocking(engine):
    for epoch in (1, 2, 3):
        send, recv = sent(rank, epoch).astype("f8"), np.full(N * ranks, POISON, "f8")
        engine.Allreduce(send, recv)
        expect_equal("blocking Allreduce", recv, total(epoch))
        recv[:] = POISON
        engine.Allgather(send[:N], recv)
        expect_equal("blocking Allgather", recv, gathered(epoch))
        engine.Bcast(send, root)
        expect_equal("blocking Bcast", send, sent(root, epoch))
        recv[:] = POISON
        engine.Scatterv(send, recv[:N], root)
        expect_equal("blocking Scatterv", recv[:N], blocks(root, epoch)[rank])
        engine.Barrier()


def own_operator(engine):
    """A function of Python's, which the engine calls in start, test and wait."""
    def larger(left, right, _):
        np.frombuffer(right, "i4")[:] = np.maximum(np.frombuffer(left, "i4"), np.frombuffer(right, "i4"))

    op = MPI.Op.Create(larger, commute=True)
    three_epochs("Allreduce, own operator", lambda send, recv: engine.Allreduce_init(send, recv, op), lambda epoch: sent(ranks - 1, epoch))
    op.Free()


with stoker.Engine(world, executor="auto", log="error") as made:
    for part in (persistent, neighbors, several, blocking, own_operator):
        part(made)
finish()
