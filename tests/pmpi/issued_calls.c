/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded behind the drop-in library, which looks for the MPI library's functions from itself on, so that these stand
 * in for the MPI library's. */
#include "tests/pmpi/issued_calls.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int blocking, nonblocking;

int issued_blocking(void) { return atomic_load(&blocking); }
int issued_nonblocking(void) { return atomic_load(&nonblocking); }

int PMPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  atomic_fetch_add(&blocking, count == watched_count);
  __typeof__(&PMPI_Allreduce) call = NULL;
  *(void**)&call = dlsym(RTLD_NEXT, "PMPI_Allreduce");
  return call(sendbuf, recvbuf, count, datatype, op, comm);
}

int PMPI_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    MPI_Request* request) {
  atomic_fetch_add(&nonblocking, count == watched_count);
  __typeof__(&PMPI_Iallreduce) call = NULL;
  *(void**)&call = dlsym(RTLD_NEXT, "PMPI_Iallreduce");
  return call(sendbuf, recvbuf, count, datatype, op, comm, request);
}
