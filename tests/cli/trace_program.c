/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions within regions, and two requests in progress together, on two ranks. */
#include <stoker/stoker.h>

#include <stdio.h>

enum { count = 1 << 14, steps = 4 };

static void check(int code) {
  if (code != STOKER_SUCCESS) {
    fprintf(stderr, "%s\n", stoker_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* On rank 0 the second request is started before the first can complete: rank 1 has not started that yet. */
static void start(int rank, const stoker_request requests[2]) {
  if (rank == 0) {
    check(stoker_start(requests[0]));
    check(stoker_start(requests[1]));
    MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(stoker_start(requests[0]));
    check(stoker_start(requests[1]));
  }
}

int main(int argc, char** argv) {
  static int in[2 * count];
  static int out[2 * count];
  static int sum[count];
  int level, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  stoker_engine engine;
  stoker_request requests[2];
  check(stoker_engine_create(MPI_COMM_WORLD, NULL, 0, &engine));
  check(stoker_alltoall_init(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, engine,
                             &requests[0]));
  check(stoker_allreduce_init(in, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, engine, &requests[1]));
  for (int step = 0; step < steps; ++step) {
    check(stoker_trace_begin(engine, "step"));
    check(stoker_trace_begin(engine, "start"));
    start(rank, requests);
    check(stoker_trace_end(engine));
    check(stoker_trace_begin(engine, "wait"));
    check(stoker_wait(requests[0]));
    check(stoker_wait(requests[1]));
    check(stoker_trace_end(engine));
    check(stoker_trace_end(engine));
  }
  check(stoker_request_free(&requests[0]));
  check(stoker_request_free(&requests[1]));
  check(stoker_engine_destroy(&engine));
  MPI_Finalize();
  return 0;
}
