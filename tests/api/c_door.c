/* SPDX-License-Identifier: BSD-3-Clause */
/* The C interface from C: one alltoall, one alltoallv and one allreduce, started three times, without a line of C++. A
 * plain MPI program, which exits 0 when every rank received what it should. */
#include <stoker/stoker.h>

#include <stdio.h>
#include <stdlib.h>

#define BLOCK 6

static int failed = 0;

static void check(int code, const char* what) {
  if (code != STOKER_SUCCESS) {
    fprintf(stderr, "%s: %s: %s\n", what, stoker_error_string(code), stoker_error_message());
    failed = 1;
  }
}

int main(int argc, char** argv) {
  int provided, rank, ranks, epoch, peer, i, any_failed, sum;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  size_t size = (size_t)ranks * BLOCK;
  int* send = malloc(size * sizeof *send);
  int* recv[2] = {malloc(size * sizeof *recv[0]), malloc(size * sizeof *recv[1])};
  int* counts = malloc((size_t)ranks * sizeof *counts);
  int* displs = malloc((size_t)ranks * sizeof *displs);
  for (peer = 0; peer < ranks; ++peer) {
    counts[peer] = BLOCK;
    displs[peer] = peer * BLOCK;
  }

  const stoker_setting settings[] = {{"executor", "auto"}, {"log", "error"}};
  stoker_engine engine = STOKER_ENGINE_NULL;
  stoker_request requests[3] = {STOKER_REQUEST_NULL, STOKER_REQUEST_NULL, STOKER_REQUEST_NULL};
  check(stoker_engine_create(MPI_COMM_WORLD, settings, 2, &engine), "stoker_engine_create");
  check(stoker_alltoall_init(send, BLOCK, MPI_INT, recv[0], BLOCK, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, engine,
                             &requests[0]),
        "stoker_alltoall_init");
  check(stoker_alltoallv_init(send, counts, displs, MPI_INT, recv[1], counts, displs, MPI_INT, MPI_COMM_WORLD,
                              MPI_INFO_NULL, engine, &requests[1]),
        "stoker_alltoallv_init");
  check(stoker_allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, &requests[2]),
        "stoker_allreduce_init");
  for (epoch = 0; epoch < 3 && !failed; ++epoch) {
    for (i = 0; i < ranks * BLOCK; ++i) {
      send[i] = rank * 10000 + i + epoch * 1000000;
      recv[0][i] = recv[1][i] = -1;
    }
    sum = -1;
    check(stoker_startall(3, requests), "stoker_startall");
    check(stoker_waitall(3, requests), "stoker_waitall");
    if (sum != ranks * (ranks - 1) / 2) {
      fprintf(stderr, "rank %d, epoch %d: the sum of all ranks is %d\n", rank, epoch, sum);
      failed = 1;
    }
    for (i = 0; i < ranks * BLOCK; ++i) {
      int expected = i / BLOCK * 10000 + rank * BLOCK + i % BLOCK + epoch * 1000000;
      if (recv[0][i] != expected || recv[1][i] != expected) {
        fprintf(stderr, "rank %d, epoch %d, element %d: expected %d, got %d and %d\n", rank, epoch, i, expected,
                recv[0][i], recv[1][i]);
        failed = 1;
      }
    }
  }
  check(stoker_request_free(&requests[0]), "stoker_request_free");
  check(stoker_request_free(&requests[1]), "stoker_request_free");
  check(stoker_request_free(&requests[2]), "stoker_request_free");
  check(stoker_engine_destroy(&engine), "stoker_engine_destroy");
  MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  free(displs);
  free(counts);
  free(recv[1]);
  free(recv[0]);
  free(send);
  MPI_Finalize();
  return any_failed;
}
