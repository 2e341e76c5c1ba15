// SPDX-License-Identifier: BSD-3-Clause
// A tool that counts calls through the profiling interface, as profilers do; see tools.c.
#include <mpi.h>

#include <stdatomic.h>
#include <string.h>

enum { names = 9 };
static const char* const name_of[names] = {"MPI_Send",      "MPI_Recv",     "MPI_Isend",     "MPI_Irecv",    "MPI_Wait",
                                           "MPI_Ialltoall", "MPI_Comm_dup", "MPI_Allreduce", "MPI_Comm_rank"};
static atomic_int calls[names];

static void note(const char* name) {
  for (int i = 0; i < names; ++i) {
    if (strcmp(name_of[i], name) == 0) {
      ++calls[i];
    }
  }
}

__attribute__((visibility("default"))) int counted_calls(const char* name);
int counted_calls(const char* name) {
  for (int i = 0; i < names; ++i) {
    if (strcmp(name_of[i], name) == 0) {
      return calls[i];
    }
  }
  return -1;
}

#define COUNT(name, parameters, arguments)                                                                             \
  int name parameters {                                                                                                \
    note(#name);                                                                                                       \
    return P##name arguments;                                                                                          \
  }

COUNT(MPI_Send, (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm),
      (buf, count, datatype, dest, tag, comm))
COUNT(MPI_Recv, (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status),
      (buf, count, datatype, source, tag, comm, status))
COUNT(MPI_Isend,
      (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request),
      (buf, count, datatype, dest, tag, comm, request))
COUNT(MPI_Irecv,
      (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request),
      (buf, count, datatype, source, tag, comm, request))
COUNT(MPI_Wait, (MPI_Request * request, MPI_Status* status), (request, status))
COUNT(MPI_Ialltoall,
      (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
       MPI_Comm comm, MPI_Request* request),
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request))
COUNT(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm* newcomm), (comm, newcomm))
COUNT(MPI_Allreduce, (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
      (sendbuf, recvbuf, count, datatype, op, comm))
COUNT(MPI_Comm_rank, (MPI_Comm comm, int* rank), (comm, rank))
