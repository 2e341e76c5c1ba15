// SPDX-License-Identifier: BSD-3-Clause
// A tool that counts calls through the profiling interface, as profilers do; see tools.c.
#include <mpi.h>

#include <stdatomic.h>
#include <string.h>

enum { names = 9 };
static const char* const name_of[names] = {"MPI_Send",      "MPI_Recv",     "MPI_Isend",     "MPI_Irecv",    "MPI_Wait",
                                           "MPI_Ialltoall", "MPI_Comm_dup", "MPI_Allreduce", "MPI_Comm_rank"};
static atomic_int calls[names];

static void count(const char* name) {
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
    count(#name);                                                                                                      \
    return P##name arguments;                                                                                          \
  }

COUNT(MPI_Send, (const void* buffer, int length, MPI_Datatype type, int peer, int tag, MPI_Comm comm),
      (buffer, length, type, peer, tag, comm))
COUNT(MPI_Recv, (void* buffer, int length, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status* status),
      (buffer, length, type, peer, tag, comm, status))
COUNT(MPI_Isend,
      (const void* buffer, int length, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request),
      (buffer, length, type, peer, tag, comm, request))
COUNT(MPI_Irecv, (void* buffer, int length, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request),
      (buffer, length, type, peer, tag, comm, request))
COUNT(MPI_Wait, (MPI_Request * request, MPI_Status* status), (request, status))
COUNT(MPI_Ialltoall,
      (const void* send, int sent, MPI_Datatype sendtype, void* recv, int received, MPI_Datatype recvtype,
       MPI_Comm comm, MPI_Request* request),
      (send, sent, sendtype, recv, received, recvtype, comm, request))
COUNT(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm* copy), (comm, copy))
COUNT(MPI_Allreduce, (const void* send, void* recv, int length, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
      (send, recv, length, type, op, comm))
COUNT(MPI_Comm_rank, (MPI_Comm comm, int* rank), (comm, rank))
