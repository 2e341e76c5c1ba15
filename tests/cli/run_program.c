/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows nothing of stoker: an exchange beside a computation, and a blocking one, several times. */
#include <mpi.h>
#include <stdlib.h>

enum { ints = 1 << 14, steps = 5 };

int main(int argc, char** argv) {
  int ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int* const in = calloc((size_t)ranks * ints, sizeof *in);
  int* const out = calloc((size_t)ranks * ints, sizeof *out);
  for (int step = 0; step < steps; ++step) {
    MPI_Request request;
    MPI_Ialltoall(in, ints, MPI_INT, out, ints, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(in, out, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  free(in);
  free(out);
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
