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

#define STOKER_MPI4_FUNCTION(name, parameters)                                                                         \
  int MPI_##name parameters;                                                                                           \
  int PMPI_##name parameters;

STOKER_MPI4_FUNCTION(Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Allgather_init,
                     (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Allgather_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                   MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Iallgather_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                    MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Allgather_init_c,
                     (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Allgatherv_init,
                     (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                      const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Allgatherv_c,
                     (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Iallgatherv_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                     const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                     MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Allgatherv_init_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                         MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Allreduce_init, (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                      MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Allreduce_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                                   MPI_Op op, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Iallreduce_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                                    MPI_Op op, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Allreduce_init_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                                        MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Alltoall_init,
                     (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Alltoall_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ialltoall_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                   MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Alltoall_init_c,
                     (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Alltoallv_init, (const void* sendbuf, const int sendcounts[], const int sdispls[],
                                      MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Alltoallv_c, (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                   MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                   const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ialltoallv_c,
                     (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                      MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Alltoallv_init_c,
                     (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                      MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Alltoallw_init,
                     (const void* sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
                      void* recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                      MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Alltoallw_c, (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                   const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                   const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ialltoallw_c,
                     (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                      const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Alltoallw_init_c, (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                        const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                                        MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Bcast_init, (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                                  MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Bcast_c, (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ibcast_c, (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                                MPI_Request* request))
STOKER_MPI4_FUNCTION(Bcast_init_c, (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                                    MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Exscan_init, (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                   MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Exscan_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                MPI_Comm comm))
STOKER_MPI4_FUNCTION(Iexscan_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                 MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Exscan_init_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                                     MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Gather_init,
                     (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                      MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Gather_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Igather_c,
                     (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Gather_init_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                     MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                                     MPI_Request* request))

STOKER_MPI4_FUNCTION(Gatherv_init, (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                    const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                                    MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Gatherv_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                                 MPI_Comm comm))
STOKER_MPI4_FUNCTION(Igatherv_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                  int root, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Gatherv_init_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                      int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Neighbor_allgather_init,
                     (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Neighbor_allgather_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                            void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ineighbor_allgather_c,
                     (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Neighbor_allgather_init_c,
                     (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Neighbor_allgatherv_init,
                     (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                      const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Neighbor_allgatherv_c,
                     (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ineighbor_allgatherv_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                              void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                                              MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Neighbor_allgatherv_init_c,
                     (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
                      MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Neighbor_alltoall_init,
                     (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Neighbor_alltoall_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                           void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ineighbor_alltoall_c,
                     (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Neighbor_alltoall_init_c,
                     (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Neighbor_alltoallv_init,
                     (const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                      void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                      MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Neighbor_alltoallv_c, (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                            MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                                            const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ineighbor_alltoallv_c,
                     (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                      MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Neighbor_alltoallv_init_c,
                     (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                      MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                      MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Neighbor_alltoallw_init,
                     (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                      const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                      const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Neighbor_alltoallw_c, (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                            const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ineighbor_alltoallw_c,
                     (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                      const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Neighbor_alltoallw_init_c,
                     (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                      const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                      MPI_Request* request))

STOKER_MPI4_FUNCTION(Reduce_init, (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                   int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Reduce_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                int root, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ireduce_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                 int root, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Reduce_init_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                                     MPI_Op op, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Reduce_scatter_init,
                     (const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Reduce_scatter_c, (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ireduce_scatter_c, (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Reduce_scatter_init_c,
                     (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                      MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Reduce_scatter_block_init,
                     (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Reduce_scatter_block_c, (const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Ireduce_scatter_block_c, (const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Reduce_scatter_block_init_c,
                     (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Scan_init, (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                 MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Scan_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                              MPI_Comm comm))
STOKER_MPI4_FUNCTION(Iscan_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Scan_init_c, (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                                   MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Scatter_init,
                     (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                      MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Scatter_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                 MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Iscatter_c,
                     (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Scatter_init_c, (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                      MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                                      MPI_Info info, MPI_Request* request))

STOKER_MPI4_FUNCTION(Scatterv_init, (const void* sendbuf, const int sendcounts[], const int displs[],
                                     MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                     int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
STOKER_MPI4_FUNCTION(Scatterv_c,
                     (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
                      void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
STOKER_MPI4_FUNCTION(Iscatterv_c, (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                                   MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                   int root, MPI_Comm comm, MPI_Request* request))
STOKER_MPI4_FUNCTION(Scatterv_init_c, (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                                       MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                       int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))

#undef STOKER_MPI4_FUNCTION

#ifdef __cplusplus
}
#endif

#endif

#endif
