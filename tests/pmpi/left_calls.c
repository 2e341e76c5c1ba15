/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking calls that trials leave to the MPI library are carried out by its blocking function. */
#include "tests/pmpi/issued_calls.h"

#include <mpi.h>
#include <stdio.h>

enum { calls = 60 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks, rank, failed = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  static double sent[watched_count], received[watched_count];
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < watched_count; ++i) {
      sent[i] = (double)(call + i + rank);
      received[i] = -1;
    }
    MPI_Allreduce(sent, received, watched_count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < watched_count; ++i) {
      const int sum = ranks * (call + i) + ranks * (ranks - 1) / 2;
      failed |= received[i] != (double)sum;
    }
  }
  const int blocking = issued_blocking != NULL ? issued_blocking() : -1;
  const int nonblocking = issued_nonblocking != NULL ? issued_nonblocking() : -1;
  if (failed || blocking < 1 || blocking >= calls || nonblocking != 0) {
    fprintf(
        stderr,
        "FAILED: rank %d: %s results; of %d calls %d reached the MPI library as blocking ones and %d as nonblocking "
        "ones; expected some, but not all, and none\n",
        rank, failed ? "wrong" : "right", calls, blocking, nonblocking);
    failed = 1;
  }
  MPI_Finalize();
  return failed;
}
