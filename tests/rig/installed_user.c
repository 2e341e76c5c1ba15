// SPDX-License-Identifier: BSD-3-Clause
// A user's C program against the installed library: one persistent all-to-all, three times, with new data each time.
#include <stoker/stoker.h>

#include <mpi.h>
#include <stdio.h>

static int complain(int code) {
  fprintf(stderr, "error %d: %s\n", code, stoker_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

int main(int argc, char** argv) {
  int provided, rank, size, code, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    fprintf(stderr, "needs 2 ranks, not %d\n", size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  int send[2], receive[2];
  stoker_engine engine;
  stoker_request request;
  if ((code = stoker_engine_create(MPI_COMM_WORLD, NULL, 0, &engine)) != STOKER_SUCCESS ||
      (code = stoker_alltoall_init(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, engine,
                                   &request)) != STOKER_SUCCESS) {
    return complain(code);
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int peer = 0; peer < 2; ++peer) {
      send[peer] = 100 * epoch + 10 * rank + peer;
      receive[peer] = -1;
    }
    if ((code = stoker_start(request)) != STOKER_SUCCESS || (code = stoker_wait(request)) != STOKER_SUCCESS) {
      return complain(code);
    }
    for (int peer = 0; peer < 2; ++peer) {
      wrong += receive[peer] != 100 * epoch + 10 * peer + rank;
    }
  }
  if ((code = stoker_request_free(&request)) != STOKER_SUCCESS ||
      (code = stoker_engine_destroy(&engine)) != STOKER_SUCCESS) {
    return complain(code);
  }
  MPI_Finalize();
  return wrong != 0;
}
