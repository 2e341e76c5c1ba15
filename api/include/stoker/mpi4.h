/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI-4's persistent collectives and collectives with large counts, for programs written to MPI-4 that run on an older
   MPI library. Include this after mpi.h, and link libstoker-pmpi before the MPI library. The header is empty if mpi.h
   has these functions. Arguments, ownership and errors are those of MPI-4.1, chapter 6. */
#ifndef STOKER_MPI4_H
#define STOKER_MPI4_H

#include <mpi.h>

#if MPI_VERSION < 4

#ifdef __cplusplus
extern "C" {
#endif

/* What stands in parentheses as one argument of a macro, without them. */
#define STOKER_LIST(...) __VA_ARGS__
#define STOKER_MPI4_FUNCTION(name, parameters)                                                                         \
  int MPI_##name parameters;                                                                                           \
  int PMPI_##name parameters;

/* The collectives: name, that of the nonblocking form behind its I, and parameters before the communicator. */
#define STOKER_MPI4_COLLECTIVES(COLLECTIVE)                                                                            \
  COLLECTIVE(Allgather, allgather,                                                                                     \
             (const void* sendbuf, STOKER_COUNT sendcount, MPI_Datatype sendtype, void* recvbuf,                       \
              STOKER_COUNT recvcount, MPI_Datatype recvtype))                                                          \
  COLLECTIVE(Allgatherv, allgatherv,                                                                                   \
             (const void* sendbuf, STOKER_COUNT sendcount, MPI_Datatype sendtype, void* recvbuf,                       \
              const STOKER_COUNT recvcounts[], const STOKER_DISPL displs[], MPI_Datatype recvtype))                    \
  COLLECTIVE(Allreduce, allreduce,                                                                                     \
             (const void* sendbuf, void* recvbuf, STOKER_COUNT count, MPI_Datatype datatype, MPI_Op op))               \
  COLLECTIVE(Alltoall, alltoall,                                                                                       \
             (const void* sendbuf, STOKER_COUNT sendcount, MPI_Datatype sendtype, void* recvbuf,                       \
              STOKER_COUNT recvcount, MPI_Datatype recvtype))                                                          \
  COLLECTIVE(Alltoallv, alltoallv,                                                                                     \
             (const void* sendbuf, const STOKER_COUNT sendcounts[], const STOKER_DISPL sdispls[],                      \
              MPI_Datatype sendtype, void* recvbuf, const STOKER_COUNT recvcounts[], const STOKER_DISPL rdispls[],     \
              MPI_Datatype recvtype))                                                                                  \
  COLLECTIVE(Alltoallw, alltoallw,                                                                                     \
             (const void* sendbuf, const STOKER_COUNT sendcounts[], const STOKER_DISPL sdispls[],                      \
              const MPI_Datatype sendtypes[], void* recvbuf, const STOKER_COUNT recvcounts[],                          \
              const STOKER_DISPL rdispls[], const MPI_Datatype recvtypes[]))                                           \
  COLLECTIVE(Bcast, bcast, (void* buffer, STOKER_COUNT count, MPI_Datatype datatype, int root))                        \
  COLLECTIVE(Exscan, exscan,                                                                                           \
             (const void* sendbuf, void* recvbuf, STOKER_COUNT count, MPI_Datatype datatype, MPI_Op op))               \
  COLLECTIVE(Gather, gather,                                                                                           \
             (const void* sendbuf, STOKER_COUNT sendcount, MPI_Datatype sendtype, void* recvbuf,                       \
              STOKER_COUNT recvcount, MPI_Datatype recvtype, int root))                                                \
  COLLECTIVE(Gatherv, gatherv,                                                                                         \
             (const void* sendbuf, STOKER_COUNT sendcount, MPI_Datatype sendtype, void* recvbuf,                       \
              const STOKER_COUNT recvcounts[], const STOKER_DISPL displs[], MPI_Datatype recvtype, int root))          \
  COLLECTIVE(Neighbor_allgather, neighbor_allgather,                                                                   \
             (const void* sendbuf, STOKER_COUNT sendcount, MPI_Datatype sendtype, void* recvbuf,                       \
              STOKER_COUNT recvcount, MPI_Datatype recvtype))                                                          \
  COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv,                                                                 \
             (const void* sendbuf, STOKER_COUNT sendcount, MPI_Datatype sendtype, void* recvbuf,                       \
              const STOKER_COUNT recvcounts[], const STOKER_DISPL displs[], MPI_Datatype recvtype))                    \
  COLLECTIVE(Neighbor_alltoall, neighbor_alltoall,                                                                     \
             (const void* sendbuf, STOKER_COUNT sendcount, MPI_Datatype sendtype, void* recvbuf,                       \
              STOKER_COUNT recvcount, MPI_Datatype recvtype))                                                          \
  COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv,                                                                   \
             (const void* sendbuf, const STOKER_COUNT sendcounts[], const STOKER_DISPL sdispls[],                      \
              MPI_Datatype sendtype, void* recvbuf, const STOKER_COUNT recvcounts[], const STOKER_DISPL rdispls[],     \
              MPI_Datatype recvtype))                                                                                  \
  COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw,                                                                   \
             (const void* sendbuf, const STOKER_COUNT sendcounts[], const MPI_Aint sdispls[],                          \
              const MPI_Datatype sendtypes[], void* recvbuf, const STOKER_COUNT recvcounts[],                          \
              const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]))                                               \
  COLLECTIVE(Reduce, reduce,                                                                                           \
             (const void* sendbuf, void* recvbuf, STOKER_COUNT count, MPI_Datatype datatype, MPI_Op op, int root))     \
  COLLECTIVE(Reduce_scatter, reduce_scatter,                                                                           \
             (const void* sendbuf, void* recvbuf, const STOKER_COUNT recvcounts[], MPI_Datatype datatype, MPI_Op op))  \
  COLLECTIVE(Reduce_scatter_block, reduce_scatter_block,                                                               \
             (const void* sendbuf, void* recvbuf, STOKER_COUNT recvcount, MPI_Datatype datatype, MPI_Op op))           \
  COLLECTIVE(Scan, scan, (const void* sendbuf, void* recvbuf, STOKER_COUNT count, MPI_Datatype datatype, MPI_Op op))   \
  COLLECTIVE(Scatter, scatter,                                                                                         \
             (const void* sendbuf, STOKER_COUNT sendcount, MPI_Datatype sendtype, void* recvbuf,                       \
              STOKER_COUNT recvcount, MPI_Datatype recvtype, int root))                                                \
  COLLECTIVE(Scatterv, scatterv,                                                                                       \
             (const void* sendbuf, const STOKER_COUNT sendcounts[], const STOKER_DISPL displs[],                       \
              MPI_Datatype sendtype, void* recvbuf, STOKER_COUNT recvcount, MPI_Datatype recvtype, int root))

#define STOKER_COUNT int
#define STOKER_DISPL int
#define STOKER_MPI4_PERSISTENT(Name, name, parameters)                                                                 \
  STOKER_MPI4_FUNCTION(Name##_init, (STOKER_LIST parameters, MPI_Comm comm, MPI_Info info, MPI_Request * request))
STOKER_MPI4_FUNCTION(Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_COLLECTIVES(STOKER_MPI4_PERSISTENT)
#undef STOKER_COUNT
#undef STOKER_DISPL

#define STOKER_COUNT MPI_Count
#define STOKER_DISPL MPI_Aint
#define STOKER_MPI4_LARGE(Name, name, parameters)                                                                      \
  STOKER_MPI4_FUNCTION(Name##_c, (STOKER_LIST parameters, MPI_Comm comm))                                              \
  STOKER_MPI4_FUNCTION(I##name##_c, (STOKER_LIST parameters, MPI_Comm comm, MPI_Request * request))                    \
  STOKER_MPI4_FUNCTION(Name##_init_c, (STOKER_LIST parameters, MPI_Comm comm, MPI_Info info, MPI_Request * request))
STOKER_MPI4_COLLECTIVES(STOKER_MPI4_LARGE)
#undef STOKER_COUNT
#undef STOKER_DISPL

#undef STOKER_LIST
#undef STOKER_MPI4_COLLECTIVES
#undef STOKER_MPI4_PERSISTENT
#undef STOKER_MPI4_LARGE
#undef STOKER_MPI4_FUNCTION

#ifdef __cplusplus
}
#endif

#endif

#endif
