/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * stoker's blocking collectives: the C interface.
 *
 * stoker_<name>(...) takes the arguments of MPI's function MPI_<Name> and an engine, and returns when the caller's part
 * is done, as MPI's function does (MPI-4.1 chapter 6). The form with _c has counts of type MPI_Count and displacements
 * of type MPI_Aint. Each function below is the blocking form of the init function of the same name in stoker.h, which
 * describes its buffers, counts, root, MPI_IN_PLACE and the arguments that are significant at the root only.
 *
 * How it works. The first call of its kind on a communicator initialises a persistent request, which takes as long as
 * the init function. Later calls of about that size, with any buffers, use it again. At most 64 requests are kept for a
 * communicator. A call of another kind that comes for the third time takes the place of the kind that was called
 * longest ago, if that is a thousand calls on this communicator ago; else it is handed to the MPI library. Requests go
 * when the communicator is freed or the engine is destroyed. Each call copies what it sends and what it receives once.
 * gatherv and scatterv, and operations of MPI_Op_create on datatypes with gaps, are handed to the MPI library.
 *
 * When not to use it. A call that is made again and again with the same buffers is better served by a persistent
 * request, which has nothing to copy, and overlaps with computation.
 *
 * Collective over `comm`, whose ranks must all be ranks of the engine's communicator: same order on all ranks, also
 * with regard to the init functions on that communicator. Different threads may call on different communicators at the
 * same time. Requests that were started before make progress during the call; inline ones do not while the first call
 * on a communicator sets things up.
 *
 * Buffers, datatypes and operations are the caller's again when the call returns. No info object can be given: the
 * settings choose algorithm, executor and determinism.
 *
 * Errors. The codes and messages are those of the init functions. A rank finds errors in its own arguments by itself,
 * and returns them before it communicates: ranks whose arguments are right then wait, as in MPI. STOKER_ERR_MISMATCH is
 * found only by the first call of its kind. Memory or tags that are used up are no error: the call, and later ones of
 * its kind, are left to the MPI library, with a warning.
 */
#ifndef STOKER_STOKER_BLOCKING_H
#define STOKER_STOKER_BLOCKING_H

#include "stoker.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Reduction to all ranks: see stoker_allreduce_init. Calls whose operation is from MPI_Op_create are executed inline.
 */
int stoker_allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                     stoker_engine engine);
int stoker_allreduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm, stoker_engine engine);

/** Reduction to `root`: see stoker_reduce_init. */
int stoker_reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                  MPI_Comm comm, stoker_engine engine);
int stoker_reduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm, stoker_engine engine);

/** Broadcast from `root`: see stoker_bcast_init. */
int stoker_bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, stoker_engine engine);
int stoker_bcast_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, stoker_engine engine);

/** Reduction whose result is dealt out in blocks of recvcounts[i] elements: see stoker_reduce_scatter_init. */
int stoker_reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm, stoker_engine engine);
int stoker_reduce_scatter_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm, stoker_engine engine);

/** The same with equal blocks of recvcount elements: see stoker_reduce_scatter_block_init. */
int stoker_reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                                MPI_Comm comm, stoker_engine engine);
int stoker_reduce_scatter_block_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                  MPI_Op op, MPI_Comm comm, stoker_engine engine);

/** Gathers a block of each rank on all ranks: see stoker_allgather_init. */
int stoker_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                     MPI_Datatype recvtype, MPI_Comm comm, stoker_engine engine);
int stoker_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, stoker_engine engine);

/** The same with blocks of different sizes: see stoker_allgatherv_init. */
int stoker_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                      const int displs[], MPI_Datatype recvtype, MPI_Comm comm, stoker_engine engine);
int stoker_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
                        stoker_engine engine);

/** Gathers a block of each rank at `root`: see stoker_gather_init. */
int stoker_gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);
int stoker_gather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);

/** The same with blocks of different sizes, by the MPI library: see stoker_gatherv_init. */
int stoker_gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                   const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);
int stoker_gatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                     MPI_Comm comm, stoker_engine engine);

/** Deals the blocks of `root` out: see stoker_scatter_init. */
int stoker_scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                   MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);
int stoker_scatter_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);

/** The same with blocks of different sizes, by the MPI library: see stoker_scatterv_init. */
int stoker_scatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                    void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);
int stoker_scatterv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
                      void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                      stoker_engine engine);

/** Returns once all ranks of comm have called it. */
int stoker_barrier(MPI_Comm comm, stoker_engine engine);

/** Combines the operands of ranks 0 to this one: see stoker_scan_init. */
int stoker_scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                stoker_engine engine);
int stoker_scan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  stoker_engine engine);

/** Combines the operands of ranks 0 to the one before this: see stoker_exscan_init. */
int stoker_exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  stoker_engine engine);
int stoker_exscan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, stoker_engine engine);

#ifdef __cplusplus
}
#endif

#endif
