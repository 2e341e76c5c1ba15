/* SPDX-License-Identifier: BSD-3-Clause */
/* The shortest use of stoker from C: an all-to-all that runs while the program computes.
 *   mpicc quickstart.c $(pkg-config --cflags --libs stoker) -o quickstart */
#include <stoker/stoker.h>

#include <stdio.h>
#include <stdlib.h>

enum { count = 65536 }; /* doubles for each rank */

static void check(int code) {
  if (code != STOKER_SUCCESS) {
    fprintf(stderr, "%s\n", stoker_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  int level, rank, ranks, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  stoker_engine engine;
  stoker_request request;
  void *send_memory, *recv_memory; /* any memory will do; this is never copied on the way */
  check(stoker_engine_create(MPI_COMM_WORLD, NULL, 0, &engine));
  check(stoker_alloc(engine, (size_t)ranks * count * sizeof(double), &send_memory));
  check(stoker_alloc(engine, (size_t)ranks * count * sizeof(double), &recv_memory));
  double *send = send_memory, *recv = recv_memory;
  check(stoker_alltoall_init(send, count, MPI_DOUBLE, recv, count, MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL, engine,
                             &request));

  for (int step = 1; step <= 3; ++step) {
    for (int i = 0; i < ranks * count; ++i) {
      const int to = i / count;
      send[i] = step * (1000 * rank + to); /* from whom, to whom */
    }
    check(stoker_start(request));
    double sum = 0; /* compute: the exchange proceeds meanwhile */
    for (int i = 1; i < 2000000; ++i) {
      sum += 1.0 / i / i;
    }
    check(stoker_wait(request));
    for (int i = 0; i < ranks * count; ++i) {
      const int from = i / count;
      wrong += recv[i] != step * (1000 * from + rank);
    }
    wrong += !(sum > 1.644 && sum < 1.645); /* pi^2 / 6 */
  }

  check(stoker_request_free(&request));
  check(stoker_dealloc(send));
  check(stoker_dealloc(recv));
  check(stoker_engine_destroy(&engine));
  printf("rank %d of %d: %s\n", rank, ranks, wrong == 0 ? "correct" : "WRONG");
  MPI_Finalize();
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
