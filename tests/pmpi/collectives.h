// SPDX-License-Identifier: BSD-3-Clause
// The collectives of MPI-4.1, chapters 6 and 8, in all forms, for programs that go through them one after the other.
#pragma once

#include <mpi.h>

#include <stdbool.h>

typedef enum Family {
  allgather,
  allgatherv,
  allreduce,
  alltoall,
  alltoallv,
  alltoallw,
  barrier,
  bcast,
  exscan,
  gather,
  gatherv,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
  reduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  scatter,
  scatterv,
  family_count
} Family;

typedef enum Form {
  form_blocking,
  form_nonblocking,
  form_persistent,
  form_blocking_c,
  form_nonblocking_c,
  form_persistent_c,
  form_mpix // Open MPI 4's persistent collectives under their own names
} Form;

const char* family_name(Family family);
const char* form_name(Form form);
bool is_neighbor(Family family);
bool is_reduction(Family family);
bool has_in_place(Family family);
bool has_root(Family family);
bool is_blocking(Form form);
bool is_persistent(Form form);
bool is_available(Form form);
// A form of persistent calls that there is, or form_nonblocking.
Form some_persistent_form(void);

// The arguments of any of them. Each family looks at its own; bcast and reductions at those of the receive buffer.
typedef struct Arguments {
  const void* sendbuf;
  int sendcount;
  const int *sendcounts, *sdispls; // displacements of alltoallw in bytes
  const MPI_Count* wide_sendcounts;
  const MPI_Aint* wide_sdispls; // also neighbor_alltoallw's without large counts
  MPI_Datatype sendtype;
  const MPI_Datatype* sendtypes;
  void* recvbuf;
  int recvcount;
  const int *recvcounts, *rdispls;
  const MPI_Count* wide_recvcounts;
  const MPI_Aint* wide_rdispls;
  MPI_Datatype recvtype;
  const MPI_Datatype* recvtypes;
  MPI_Op op;
  int root;
  MPI_Comm comm;
} Arguments;

// Calls MPI; returns its code. Sets `request` where the form is not blocking. The same site for all calls of a family's
// form.
int call_collective(Family family, Form form, const Arguments* arguments, MPI_Request* request);
