// SPDX-License-Identifier: BSD-3-Clause
// What a profiler (counting_tool.c) sees of a program: the program's own calls, and none of the engine's.
//
//   tools before|behind|alone      where the tool stands: before the drop-in, behind it, or there is no drop-in
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

// `taken_over`: the drop-in defines the function, so that a tool behind it hears nothing of it.
static void expect(const char* name, int calls, int taken_over, const char* place) {
  int (*counted)(const char*) = NULL;
  *(void**)&counted = dlsym(RTLD_DEFAULT, "counted_calls");
  const int expected = taken_over && strcmp(place, "behind") == 0 ? 0 : calls;
  const int seen = counted == NULL ? -1 : counted(name);
  if (seen != expected) {
    fprintf(stderr, "FAILED: a tool %s the drop-in sees %d calls of %s, not %d\n", place, seen, name, expected);
    ++failures;
  }
}

int main(int argc, char** argv) {
  enum { epochs = 40, count = 32768 };
  if (argc != 2) {
    fprintf(stderr, "usage: tools before|behind|alone\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int* send = malloc(sizeof(int) * count * (size_t)ranks);
  int* recv = malloc(sizeof(int) * count * (size_t)ranks);
  for (int epoch = 0; epoch < epochs; ++epoch) { // enough to be tried, and to be the engine's
    for (int i = 0; i < count * ranks; ++i) {
      send[i] = (rank * 1000) + (i / count) + epoch;
      recv[i] = -1;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoall(send, count, MPI_INT, recv, count, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count * ranks; ++i) {
      if (recv[i] != (i / count * 1000) + rank + epoch) {
        fprintf(stderr, "FAILED: epoch %d, int %d is %d\n", epoch, i, recv[i]);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
  int token = 0;
  if (rank == 0) {
    MPI_Send(&token, 1, MPI_INT, 1, 0, comm);
  } else if (rank == 1) {
    MPI_Recv(&token, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
  }
  if (rank < 2) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) {
      MPI_Isend(send, count, MPI_INT, 1, 1, comm, &request);
    } else {
      MPI_Irecv(recv, count, MPI_INT, 0, 1, comm, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Comm_free(&comm);

  expect("MPI_Send", rank == 0, 0, argv[1]);
  expect("MPI_Recv", rank == 1, 0, argv[1]);
  expect("MPI_Isend", rank == 0, 1, argv[1]);
  expect("MPI_Irecv", rank == 1, 1, argv[1]);
  expect("MPI_Comm_rank", 1, 0, argv[1]);
  expect("MPI_Wait", epochs + (rank < 2), 1, argv[1]);
  expect("MPI_Ialltoall", epochs, 1, argv[1]);
  expect("MPI_Comm_dup", 1, 1, argv[1]);
  expect("MPI_Allreduce", 1, 1, argv[1]);
  free(send);
  free(recv);
  MPI_Finalize();
  return failures != 0;
}
