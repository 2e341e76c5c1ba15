// SPDX-License-Identifier: BSD-3-Clause
// Calls through a wrapper that two functions call, three and five times. The communicator's name needs escaping.
#include <mpi.h>

#include <stdlib.h>

enum { elements = 65536 };

__attribute__((noinline)) static void exchange(const int* send, int* receive) {
  MPI_Request request;
  MPI_Ialltoall(send, elements, MPI_INT, receive, elements, MPI_INT, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void predict(const int* send, int* receive) {
  for (int step = 0; step < 3; ++step) {
    exchange(send, receive);
  }
}

__attribute__((noinline)) static void correct(const int* send, int* receive) {
  for (int step = 0; step < 5; ++step) {
    exchange(send, receive);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_name(MPI_COMM_WORLD, "the \"world\"\twide");
  int ranks = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const size_t all = (size_t)ranks * elements;
  int* const send = calloc(all, sizeof(int));
  int* const receive = calloc(all, sizeof(int));
  for (size_t i = 0; i < all; ++i) {
    send[i] = rank + 1;
  }
  predict(send, receive);
  correct(send, receive);
  int wrong = 0;
  for (size_t i = 0; i < all; ++i) {
    wrong |= receive[i] != (int)(i / elements) + 1;
  }
  free(send);
  free(receive);
  MPI_Finalize();
  return wrong;
}
