// SPDX-License-Identifier: BSD-3-Clause
// A program written to MPI-4, linked with the drop-in library instead of having it preloaded: a persistent alltoall,
// started three times. Exits 0 when every rank received what it should.
#include <mpi.h>
#include <stoker/mpi4.h>

#include <stdio.h>
#include <stdlib.h>

enum { count = 20000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int* in = calloc((size_t)ranks * count, sizeof *in);
  int* out = calloc((size_t)ranks * count, sizeof *out);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Alltoall_init(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int i = 0; i < ranks * count; ++i) {
      in[i] = rank * 1000003 + i + epoch;
      out[i] = -1;
    }
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < ranks * count; ++i) {
      wrong += out[i] != (i / count) * 1000003 + rank * count + i % count + epoch ? 1 : 0;
    }
  }
  MPI_Request_free(&request);
  free(in);
  free(out);
  MPI_Finalize();
  if (wrong != 0) {
    fprintf(stderr, "FAILED rank %d: %d ints are wrong\n", rank, wrong);
  }
  return wrong == 0 ? 0 : 1;
}
