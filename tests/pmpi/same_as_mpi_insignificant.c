// SPDX-License-Identifier: BSD-3-Clause
// Arguments that say nothing, on some ranks only: datatypes of blocks without elements, and the buffer for a result
// that there is none of.
#include "tests/pmpi/same_as_mpi.h"

#include <stdlib.h>

enum { count = 10000 };

// Each rank has a block for the next one alone. MPICH does not look at the types of the others; Open MPI refuses them,
// so all ranks have them there.
static void exchange_untyped_blocks(Form form, Pair comms, const int* in, int* results[2]) {
  Places send;
  Places recv;
  for (int r = 0; r < ranks; ++r) {
    place(&send, r, r == (rank + 1) % ranks ? count : 0, 0);
    place(&recv, r, r == (rank + ranks - 1) % ranks ? count : 0, 0);
    const bool untyped = is_open_mpi() || rank % 2 == 0;
    send.types[r] = untyped && send.counts[r] == 0 ? MPI_DATATYPE_NULL : MPI_INT;
    recv.types[r] = untyped && recv.counts[r] == 0 ? MPI_DATATYPE_NULL : MPI_INT;
  }
  compare_calls(alltoallw, form, arguments_of(alltoallw, in, &send, NULL, &recv, MPI_COMM_NULL), comms, results, count);
}

// The first rank of an exscan gets none. MPICH wants a buffer from it all the same.
static void reduce_without_a_result(Form form, Pair comms, const int* in, int* results[2]) {
  int* none[2] = {NULL, NULL};
  const Arguments arguments = {.sendbuf = in, .recvcount = count, .recvtype = MPI_INT, .op = MPI_SUM};
  compare_calls(exscan, form, arguments, comms, rank == 0 ? none : results, count);
}

void run_insignificant(void) {
  int* in = malloc(count * sizeof(int));
  int* results[2] = {malloc(count * sizeof(int)), malloc(count * sizeof(int))};
  for (int i = 0; i < count; ++i) {
    in[i] = rank + i;
  }
  Pair comms = pair_of(MPI_COMM_WORLD);
  for (Form form = form_blocking; form <= form_mpix; ++form) {
    if (is_available(form)) {
      if (!is_open_mpi() || !is_persistent(form)) { // the engine takes persistent ones that Open MPI refuses
        exchange_untyped_blocks(form, comms, in, results);
      }
      if (is_open_mpi()) {
        reduce_without_a_result(form, comms, in, results);
      }
    }
  }
  free_pair(&comms);
  free(in);
  free(results[0]);
  free(results[1]);
}
