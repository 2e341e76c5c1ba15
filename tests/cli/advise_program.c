/* SPDX-License-Identifier: BSD-3-Clause */
/* Known calls, from a place each: a function of their own. */
#include <mpi.h>
#include <stdlib.h>

#define NO_INLINE __attribute__((noinline))

enum {
  ints = 1 << 14, /* of a block, and of a message: 64 KiB */
  few = 8,
  steps = 5,
};

static int ranks = 0;
static int rank = 0;
static int* in;
static int* out;

static NO_INLINE void compute(void) {
  volatile double sum = 0;
  for (int i = 0; i < 1 << 20; ++i) {
    sum = sum + 1.0 / (1 + i);
  }
}

/* Computes between start and wait. */
static NO_INLINE void overlaps(void) {
  for (int step = 0; step < steps; ++step) {
    MPI_Request request;
    MPI_Ialltoall(in, ints, MPI_INT, out, ints, MPI_INT, MPI_COMM_WORLD, &request);
    compute();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static NO_INLINE void waits_at_once(void) {
  for (int step = 0; step < steps; ++step) {
    MPI_Request request;
    MPI_Iallreduce(in, out, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static NO_INLINE void short_one(void) {
  MPI_Request request;
  MPI_Iallreduce(in, out, few, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static NO_INLINE void tests(void) {
  int done = 0;
  MPI_Request request;
  MPI_Ibcast(in, ints, MPI_INT, 0, MPI_COMM_WORLD, &request);
  while (done == 0) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

static NO_INLINE void blocks(void) {
  for (int step = 0; step < steps; ++step) {
    MPI_Allreduce(in, out, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, few, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

/* Messages to both neighbors in a ring, long ones and short ones. */
static NO_INLINE void halo(int count) {
  const int left = (rank + ranks - 1) % ranks;
  const int right = (rank + 1) % ranks;
  for (int step = 0; step < steps; ++step) {
    MPI_Request requests[4];
    MPI_Irecv(out, count, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(out + count, count, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(in, count, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(in + count, count, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[3]);
    compute();
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
}

static NO_INLINE void persistent_ring(void) {
  MPI_Request requests[2];
  MPI_Recv_init(out, ints, MPI_INT, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(in, ints, MPI_INT, (rank + 1) % ranks, 3, MPI_COMM_WORLD, &requests[1]);
  for (int step = 0; step < steps; ++step) {
    MPI_Startall(2, requests);
    compute();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static NO_INLINE void neighbors(void) {
  MPI_Comm ring;
  const int periodic = 1;
  MPI_Request request;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  MPI_Ineighbor_alltoall(in, ints, MPI_INT, out, ints, MPI_INT, ring, &request);
  compute();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Neighbor_allgather(in, few, MPI_INT, out, few, MPI_INT, ring);
  MPI_Comm_free(&ring);
}

static void first_of(void* a, void* b, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) {
    ((int*)b)[i] = ((int*)a)[i];
  }
}

/* Calls that the engine does not take: an operation of the program's, and a communicator of one rank. */
static NO_INLINE void not_taken(void) {
  MPI_Op op;
  MPI_Request request;
  MPI_Op_create(first_of, 0, &op);
  MPI_Iallreduce(in, out, ints, MPI_INT, op, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Op_free(&op);
  MPI_Allgather(in, ints, MPI_INT, out, ints, MPI_INT, MPI_COMM_SELF);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const size_t length = (size_t)(ranks < 2 ? 2 : ranks) * ints;
  in = calloc(length, sizeof *in);
  out = calloc(length, sizeof *out);
  overlaps();
  waits_at_once();
  short_one();
  tests();
  blocks();
  halo(ints);
  halo(few);
  persistent_ring();
  neighbors();
  not_taken();
  free(in);
  free(out);
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
