/* SPDX-License-Identifier: BSD-3-Clause */
/* A program whose calls stoker advise partly leaves out, because MPI_Pcontrol says so. Leaves how long all took in
   seconds.RANK. */
#define _POSIX_C_SOURCE 199309L
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { ints = 8192 };
static int in[2 * ints], out[2 * ints];

static void exchange(int calls) {
  for (int i = 0; i < calls; ++i) {
    MPI_Request request;
    MPI_Ialltoall(in, ints, MPI_INT, out, ints, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void sum(int calls) {
  for (int i = 0; i < calls; ++i) {
    MPI_Allreduce(in, out, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void start(MPI_Request* requests) {
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  const struct timespec half_a_second = {0, 500000000};
  MPI_Request requests[2];
  int rank;
  char name[32];
  MPI_Init(&argc, &argv);
  const double begin = MPI_Wtime();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  exchange(20);
  sum(20);
  MPI_Pcontrol(2);
  exchange(3);
  MPI_Pcontrol(0);
  sum(30);
  MPI_Recv_init(out, ints, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(in, ints, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
  start(requests);
  nanosleep(&half_a_second, NULL);
  MPI_Pcontrol(1);
  sum(2);
  start(requests);
  MPI_Pcontrol(0);
  exchange(40);
  (void)snprintf(name, sizeof name, "seconds.%d", rank);
  FILE* const file = fopen(name, "w");
  if (file == NULL || fprintf(file, "%f", MPI_Wtime() - begin) < 0 || fclose(file) != 0) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Finalize();
  return 0;
}
