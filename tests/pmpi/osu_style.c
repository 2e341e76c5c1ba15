// SPDX-License-Identifier: BSD-3-Clause
// Loops in the manner of the OSU micro-benchmarks, which Debian does not package: a collective blocking, nonblocking
// with computation and calls of MPI_Test before the wait, and persistent, for a range of sizes, with every result
// validated. Prints mean times, which nobody checks; exits 1 when a result is wrong.
#include <mpi.h>

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Bcast_init MPIX_Bcast_init
#endif

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { iterations = 10, most_ints = 1 << 18 }; // 1 MiB

static int rank, ranks;
static int *in, *out;
static volatile double sink; // keeps the computation

typedef enum Kind { use_alltoall, use_allreduce, use_bcast } Kind;
typedef enum Way { blocking, nonblocking, persistent } Way;

static const char* const kind_names[] = {"alltoall", "allreduce", "bcast"};
static const char* const way_names[] = {"blocking", "nonblocking", "persistent"};

// The int that source has for target.
static int datum(int source, int target, int i, int iteration) {
  return source * 1009 + target * 13 + i % 251 + iteration;
}

static void fill(Kind kind, int count, int iteration) {
  const int blocks = kind == use_alltoall ? ranks : 1;
  for (int b = 0; b < blocks; ++b) {
    for (int i = 0; i < count; ++i) {
      in[b * count + i] = kind == use_bcast && rank != 0 ? -1 : datum(rank, b, i, iteration);
      out[b * count + i] = -1;
    }
  }
}

static bool is_right(Kind kind, int count, int iteration) {
  const int blocks = kind == use_alltoall ? ranks : 1;
  for (int b = 0; b < blocks; ++b) {
    for (int i = 0; i < count; ++i) {
      int expected = datum(b, kind == use_alltoall ? rank : 0, i, iteration);
      for (int r = 1; kind == use_allreduce && r < ranks; ++r) {
        expected += datum(r, 0, i, iteration);
      }
      const int got = kind == use_bcast ? in[i] : out[b * count + i];
      if (got != expected) {
        fprintf(stderr, "FAILED rank %d: %s of %d: int %d of block %d is %d, not %d\n", rank, kind_names[kind], count,
                i, b, got, expected);
        return false;
      }
    }
  }
  return true;
}

static void call(Kind kind, Way way, int count, MPI_Request* request) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  switch (kind) {
  case use_alltoall:
    if (way == blocking) {
      MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, comm);
    } else if (way == nonblocking) {
      MPI_Ialltoall(in, count, MPI_INT, out, count, MPI_INT, comm, request);
    } else {
      MPI_Alltoall_init(in, count, MPI_INT, out, count, MPI_INT, comm, MPI_INFO_NULL, request);
    }
    return;
  case use_allreduce:
    if (way == blocking) {
      MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
    } else if (way == nonblocking) {
      MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, request);
    } else {
      MPI_Allreduce_init(in, out, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request);
    }
    return;
  case use_bcast:
    if (way == blocking) {
      MPI_Bcast(in, count, MPI_INT, 0, comm);
    } else if (way == nonblocking) {
      MPI_Ibcast(in, count, MPI_INT, 0, comm, request);
    } else {
      MPI_Bcast_init(in, count, MPI_INT, 0, comm, MPI_INFO_NULL, request);
    }
    return;
  }
}

// About as long as an exchange, with an eye on it now and then.
static void compute(MPI_Request* request) {
  double sum = 0;
  for (int slice = 0; slice < 8; ++slice) {
    for (int i = 1; i < 20000; ++i) {
      sum += 1.0 / i;
    }
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
  }
  sink = sum;
}

static bool run(Kind kind, Way way, int count) {
  MPI_Request request = MPI_REQUEST_NULL;
  double seconds = 0;
  int right = 1;
  if (way == persistent) {
    call(kind, way, count, &request);
  }
  for (int iteration = 0; iteration < iterations; ++iteration) {
    fill(kind, count, iteration);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (way == persistent) {
      MPI_Start(&request);
    } else {
      call(kind, way, count, &request);
    }
    if (way != blocking) {
      compute(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    seconds += MPI_Wtime() - begin;
    right = right && is_right(kind, count, iteration) ? 1 : 0;
  }
  if (way == persistent) {
    MPI_Request_free(&request);
  }
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%-10s %-12s %8zu bytes %10.1f us  %s\n", kind_names[kind], way_names[way], (size_t)count * sizeof(int),
           seconds / iterations * 1e6, right ? "valid" : "WRONG");
  }
  return right != 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  in = malloc(sizeof *in * most_ints * (size_t)ranks);
  out = malloc(sizeof *out * most_ints * (size_t)ranks);
  if (in == NULL || out == NULL) {
    abort();
  }
  bool right = true;
  for (Kind kind = use_alltoall; kind <= use_bcast; ++kind) {
    for (Way way = blocking; way <= persistent; ++way) {
      for (int count = 1; count <= most_ints; count *= 64) {
        right = run(kind, way, count) && right;
      }
    }
  }
  free(in);
  free(out);
  MPI_Finalize();
  return right ? 0 : 1;
}
