// SPDX-License-Identifier: BSD-3-Clause
// Behind the drop-in library: the rank LATE_RANK, stopped for LATE_MILLISECONDS when the MPI library is initialised and
// the drop-in not yet.
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library asks for it
#include <mpi.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

typedef int Init(int*, char***, int, int*);

int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  void* const next = dlsym(RTLD_NEXT, "PMPI_Init_thread");
  const int code = (*(Init**)&next)(argc, argv, required, provided);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (code == MPI_SUCCESS && rank == atoi(getenv("LATE_RANK"))) {
    const long milliseconds = atol(getenv("LATE_MILLISECONDS"));
    const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&pause, NULL);
  }
  return code;
}
