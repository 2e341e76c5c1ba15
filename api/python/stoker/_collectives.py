# SPDX-License-Identifier: BSD-3-Clause
"""The arguments of each collective for C, up to the communicator, and the buffers that they name.

A collective is a function here, whose name is that of the C function. It gives (arguments, buffers).
"""

import ctypes

from ._buffers import array, check_alike, received, sent
from ._library import handle


def _blocks(send, recv, send_blocks, recv_blocks, *root):
    arguments = [send.address, send.count(send_blocks), send.datatype, recv.address, recv.count(recv_blocks), recv.datatype]
    return arguments + [ctypes.c_int(rank) for rank in root], (send, recv)


def _significant(message, comm, root):
    """None on the other ranks, which may pass anything."""
    return message if comm.Get_rank() == root else None


def alltoall(comm, sendbuf, recvbuf):
    return _blocks(sent(sendbuf), received(recvbuf), comm.Get_size(), comm.Get_size())


def _vectors(send, recv, send_blocks, recv_blocks):
    return [send.address, *send.vector(send_blocks), send.datatype, recv.address, *recv.vector(recv_blocks), recv.datatype], (send, recv)


def alltoallv(comm, sendbuf, recvbuf):
    return _vectors(sent(sendbuf), received(recvbuf), comm.Get_size(), comm.Get_size())


def _neighbors(comm):
    """How many destinations and sources; none without a topology, which C refuses."""
    return getattr(comm, "outdegree", 0), getattr(comm, "indegree", 0)


def neighbor_alltoall(comm, sendbuf, recvbuf):
    return _blocks(sent(sendbuf), received(recvbuf), *_neighbors(comm))


def neighbor_alltoallv(comm, sendbuf, recvbuf):
    return _vectors(sent(sendbuf), received(recvbuf), *_neighbors(comm))


def _reduction(send, recv, op, blocks, *root):
    """`blocks`: how many of its results' blocks an operand has."""
    whole = recv if send.in_place else send
    count = whole.count(blocks)
    if not send.in_place and not recv.absent:
        check_alike(send, recv)
        recv.check(count.value)
    arguments = [send.address, recv.address, count, whole.datatype, handle(op)]
    return arguments + [ctypes.c_int(rank) for rank in root], (send, recv, op)


def allreduce(comm, sendbuf, recvbuf, op):
    return _reduction(sent(sendbuf), received(recvbuf), op, 1)


def reduce(comm, sendbuf, recvbuf, op, root):
    return _reduction(sent(sendbuf), received(_significant(recvbuf, comm, root)), op, 1, root)


def scan(comm, sendbuf, recvbuf, op):
    return _reduction(sent(sendbuf), received(recvbuf), op, 1)


def exscan(comm, sendbuf, recvbuf, op):
    return _reduction(sent(sendbuf), received(recvbuf), op, 1)


def reduce_scatter_block(comm, sendbuf, recvbuf, op):
    return _reduction(sent(sendbuf), received(recvbuf), op, comm.Get_size())


def reduce_scatter(comm, sendbuf, recvbuf, recvcounts, op):
    send, recv = sent(sendbuf), received(recvbuf)
    counts = [int(count) for count in recvcounts]
    whole = recv if send.in_place else send
    if len(counts) != comm.Get_size():
        raise ValueError(f"recvcounts has {len(counts)} entries; expected {comm.Get_size()}")
    if not send.in_place:
        check_alike(send, recv)
    whole.check(sum(counts))
    recv.check(counts[comm.Get_rank()])
    return [send.address, recv.address, array(counts), whole.datatype, handle(op)], (send, recv, op)


def bcast(comm, buf, root):
    message = received(buf, "buf") if comm.Get_rank() != root else sent(buf, "buf")
    return [message.address, message.count(), message.datatype, ctypes.c_int(root)], (message,)


def allgather(comm, sendbuf, recvbuf):
    return _blocks(sent(sendbuf), received(recvbuf), 1, comm.Get_size())


def _gathered(send, recv, blocks, *root):
    arguments = [send.address, send.count(), send.datatype, recv.address, *recv.vector(blocks), recv.datatype]
    return arguments + [ctypes.c_int(rank) for rank in root], (send, recv)


def allgatherv(comm, sendbuf, recvbuf):
    return _gathered(sent(sendbuf), received(recvbuf), comm.Get_size())


def gather(comm, sendbuf, recvbuf, root):
    return _blocks(sent(sendbuf), received(_significant(recvbuf, comm, root)), 1, comm.Get_size(), root)


def gatherv(comm, sendbuf, recvbuf, root):
    return _gathered(sent(sendbuf), received(_significant(recvbuf, comm, root)), comm.Get_size(), root)


def scatter(comm, sendbuf, recvbuf, root):
    return _blocks(sent(_significant(sendbuf, comm, root)), received(recvbuf), comm.Get_size(), 1, root)


def scatterv(comm, sendbuf, recvbuf, root):
    send, recv = sent(_significant(sendbuf, comm, root)), received(recvbuf)
    arguments = [send.address, *send.vector(comm.Get_size()), send.datatype, recv.address, recv.count(), recv.datatype]
    return [*arguments, ctypes.c_int(root)], (send, recv)


def barrier(comm):
    return [], ()
