// SPDX-License-Identifier: BSD-3-Clause
// Every rank sends its rank and the name of its host to every other: the job that the test of the emulated cluster
// runs. Rank 0 prints one line: the number of ranks, of hosts, and the time of an MPI_Alltoall with BYTES per pair, and
// of an empty message to the last rank and back (medians of 5).
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { repeats = 5 };

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static int hosts_of(int size) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length, hosts = 0;
  char* names = malloc((size_t)size * sizeof name);
  MPI_Get_processor_name(name, &length);
  MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) {
    int seen = 0;
    for (int earlier = 0; earlier < r; ++earlier) {
      seen |= strcmp(names + (size_t)r * sizeof name, names + (size_t)earlier * sizeof name) == 0;
    }
    hosts += !seen;
  }
  free(names);
  return hosts;
}

static double ping_pong(int rank, int last) {
  double seconds[repeats];
  for (int i = 0; i < repeats; ++i) {
    const double start = MPI_Wtime();
    if (rank == 0) {
      MPI_Sendrecv(NULL, 0, MPI_BYTE, last, 0, NULL, 0, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == last) {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    seconds[i] = MPI_Wtime() - start;
  }
  qsort(seconds, repeats, sizeof *seconds, ascending);
  return seconds[repeats / 2];
}

int main(int argc, char** argv) {
  int rank, size;
  double seconds[repeats];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int bytes = argc > 1 ? atoi(argv[1]) : 1024;
  const size_t total = (size_t)size * (size_t)bytes;
  unsigned char* send = malloc(total);
  unsigned char* receive = malloc(total);
  memset(send, rank + 1, total);
  for (int i = 0; i < repeats; ++i) {
    memset(receive, 0, total);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Alltoall(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, MPI_COMM_WORLD);
    seconds[i] = MPI_Wtime() - start;
    for (size_t k = 0; k < total; ++k) {
      if (receive[k] != (unsigned char)(k / (size_t)bytes + 1)) {
        fprintf(stderr, "rank %d: byte %zu is %d\n", rank, k, receive[k]);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
  qsort(seconds, repeats, sizeof *seconds, ascending);
  const int hosts = hosts_of(size);
  const double there_and_back = ping_pong(rank, size - 1);
  if (rank == 0) {
    printf("%d ranks on %d hosts, %.0f us, %.0f us there and back\n", size, hosts, seconds[repeats / 2] * 1e6,
           there_and_back * 1e6);
  }
  free(send);
  free(receive);
  MPI_Finalize();
  return 0;
}
