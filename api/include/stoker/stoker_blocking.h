/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * stoker: blocking collectives. The C door.
 *
 * The arguments and the meaning of MPI's functions of the same names, in MPI-4.1 chapter 6, and an engine. The first call of
 * its kind on a communicator initialises a persistent request, which takes as long as stoker_allreduce_init and its like; later
 * calls of about that size use it again, whatever their buffers. What is kept goes when the communicator is freed or the engine is
 * destroyed. For calls of many sizes; a call that is made again and again with the same buffers is better served by a persistent
 * request, which has nothing to copy, and overlaps with computation.
 *
 * Each call copies what it sends and what it receives once. gatherv and scatterv, and operations of MPI_Op_create on datatypes with
 * gaps, are handed to the MPI library. Settings choose algorithms as for persistent requests.
 *
 * Collective over `comm`, whose ranks must all be ranks of the engine's communicator; same order on all ranks, also with regard to
 * the init functions on the same communicator. Requests that were started before make progress meanwhile; inline ones not in the
 * first call on a communicator. Different threads may call on different communicators at the same time.
 *
 * Errors. Those of the arguments are as in the init functions, but found by each rank for itself and returned before anything is
 * communicated: if they are right on other ranks, those wait, as in MPI. STOKER_ERR_MISMATCH is found in first calls only. Memory
 * or tags that are used up are no error: the MPI library is asked instead, with a warning.
 */
#ifndef STOKER_STOKER_BLOCKING_H
#define STOKER_STOKER_BLOCKING_H

#include "stoker.h"

#ifdef __cplusplus
extern "C" {
#endif

int stoker_allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                     stoker_engine engine);
int stoker_allreduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm, stoker_engine engine);

int stoker_reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                  MPI_Comm comm, stoker_engine engine);
int stoker_reduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                    MPI_Comm comm, stoker_engine engine);

int stoker_bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, stoker_engine engine);
int stoker_bcast_c(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, stoker_engine engine);

int stoker_reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm, stoker_engine engine);
int stoker_reduce_scatter_c(const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                            MPI_Op op, MPI_Comm comm, stoker_engine engine);

int stoker_reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                                MPI_Comm comm, stoker_engine engine);
int stoker_reduce_scatter_block_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                  MPI_Op op, MPI_Comm comm, stoker_engine engine);

int stoker_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                     MPI_Datatype recvtype, MPI_Comm comm, stoker_engine engine);
int stoker_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, stoker_engine engine);

int stoker_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                      const int displs[], MPI_Datatype recvtype, MPI_Comm comm, stoker_engine engine);
int stoker_allgatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
                        stoker_engine engine);

int stoker_gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);
int stoker_gather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);

int stoker_gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                   const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);
int stoker_gatherv_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                     MPI_Comm comm, stoker_engine engine);

int stoker_scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                   MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);
int stoker_scatter_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);

int stoker_scatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                    void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, stoker_engine engine);
int stoker_scatterv_c(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
                      void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                      stoker_engine engine);

int stoker_barrier(MPI_Comm comm, stoker_engine engine);

int stoker_scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                stoker_engine engine);
int stoker_scan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  stoker_engine engine);

int stoker_exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  stoker_engine engine);
int stoker_exscan_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm, stoker_engine engine);

#ifdef __cplusplus
}
#endif

#endif
