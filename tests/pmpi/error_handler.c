// SPDX-License-Identifier: BSD-3-Clause
// The application's error handler stays its communicator's, also while another thread makes persistent collectives on it:
// every mistake of a thread is told to it.
#include <mpi.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Alltoall_init MPIX_Alltoall_init
#endif

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { rounds = 30, requests = 4, starts = 3, elements = 500, most_ranks = 16 };

static atomic_int told = 0;
static atomic_bool stop = false;

// NOLINTNEXTLINE(cert-dcl50-cpp,readability-non-const-parameter): MPI_Comm_errhandler_function
static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++told;
}

// How many mistakes it made.
static void* make_mistakes(void* comm) {
  size_t made = 0;
  while (!stop) {
    MPI_Send(NULL, 0, MPI_INT, 1000000, 0, *(MPI_Comm*)comm); // no such rank
    ++made;
    sched_yield();
  }
  return (void*)made; // NOLINT(performance-no-int-to-ptr)
}

// Collective. Returns how many numbers are wrong.
static int exchange(MPI_Comm comm, int round) {
  static int in[requests][most_ranks * elements], out[requests][most_ranks * elements];
  MPI_Request request[requests];
  int rank = 0, ranks = 0, wrong = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  for (int r = 0; r < requests; ++r) {
    MPI_Alltoall_init(in[r], elements, MPI_INT, out[r], elements, MPI_INT, comm, MPI_INFO_NULL, &request[r]);
  }
  for (int start = 0; start < starts; ++start) {
    for (int r = 0; r < requests; ++r) {
      for (int i = 0; i < ranks * elements; ++i) {
        in[r][i] = rank * 1000000 + i + r + start + round;
        out[r][i] = -1;
      }
      MPI_Start(&request[r]);
    }
    MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
    for (int r = 0; r < requests; ++r) {
      for (int i = 0; i < ranks * elements; ++i) {
        const int expected = i / elements * 1000000 + rank * elements + i % elements + r + start + round;
        wrong += out[r][i] != expected;
      }
    }
  }
  for (int r = 0; r < requests; ++r) {
    MPI_Request_free(&request[r]);
  }
  return wrong;
}

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE, failures = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (provided != MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return 77;
  }
  MPI_Errhandler counted = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(handler, &counted);
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, counted);
    told = 0;
    stop = false;
    pthread_t thread;
    void* made = NULL;
    if (pthread_create(&thread, NULL, make_mistakes, &comm) != 0) {
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const int wrong = exchange(comm, round);
    stop = true;
    pthread_join(thread, &made);
    if (wrong != 0 || (size_t)told != (size_t)made) {
      fprintf(stderr, "FAILED rank %d, round %d: %d wrong numbers; of %zu mistakes the handler was told %d\n", rank,
              round, wrong, (size_t)made, told);
      ++failures;
    }
    MPI_Comm_free(&comm);
  }
  MPI_Errhandler_free(&counted);
  MPI_Finalize();
  return failures > 0 ? 1 : 0;
}
