/* SPDX-License-Identifier: BSD-3-Clause */
/* An application that gains nothing, and what calls that fall back cost, and blocks of the heap. */
#include "drop_in.h"

#include <stdlib.h>

enum { chunk = 32 };

static void blocking_step(double* values, long units) {
  double sums[2] = {values[0], values[1]};
  double all[2];
  double halo[16];
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  MPI_Sendrecv(values, 16, MPI_DOUBLE, next, 1, halo, 16, MPI_DOUBLE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Request requests[2];
  MPI_Irecv(halo, 16, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(values, 16, MPI_DOUBLE, previous, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Status statuses[2];
  MPI_Waitall(2, requests, statuses);
  compute(units);
  MPI_Allreduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  values[0] = all[0] / ranks;
}

void blocking_application(double seconds) {
  double values[16] = {1, 2, 3};
  double* samples = new_samples();
  const long units = 10000; // the same with and without the library
  double each = 0;
  for (int warm = 0; warm < 3; ++warm) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < chunk; ++i) {
      blocking_step(values, units);
    }
    each = MPI_Wtime() - begin;
  }
  const int count = samples_for(seconds, each);
  for (int s = 0; s < count; ++s) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < chunk; ++i) {
      blocking_step(values, units);
    }
    samples[s] = (MPI_Wtime() - begin) / chunk;
  }
  const double median = median_of_slowest(samples, count);
  if (rank == 0) {
    fprintf(out, "{\"benchmark\":\"drop-in blocking\",\"ranks\":%d,\"samples\":%d,\"step_us\":%.4f}\n", ranks, count,
            1e6 * median);
    fflush(out);
  }
  free(samples);
}

static void call_allreduce(void) {
  double one = 1;
  double sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}
static void call_iallreduce(void) {
  double one = 1;
  double sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void call_wait(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void call_testall(void) {
  MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int flag = 0;
  MPI_Status statuses[4];
  MPI_Testall(4, requests, &flag, statuses);
}

void time_calls(const char* benchmark, const struct TimedCall* calls, int kinds, double seconds) {
  enum { loop = 1000 };
  double* samples = new_samples();
  for (int kind = 0; kind < kinds; ++kind) {
    int count = 0;
    const double end = MPI_Wtime() + (seconds / kinds);
    while (count < most_samples && (count < 5 || MPI_Wtime() < end)) {
      const double begin = MPI_Wtime();
      for (int i = 0; i < loop; ++i) {
        calls[kind].call();
      }
      samples[count++] = (MPI_Wtime() - begin) / loop;
    }
    sort_samples(samples, count);
    if (rank == 0) {
      fprintf(out, "{\"benchmark\":\"%s\",\"call\":\"%s\",\"samples\":%d,\"call_ns\":%.2f,\"least_ns\":%.2f}\n",
              benchmark, calls[kind].name, count, 1e9 * samples[count / 2], 1e9 * samples[0]);
      fflush(out);
    }
  }
  free(samples);
}

static void use_block(size_t bytes) {
  enum { page = 4096 };
  char* block = malloc(bytes);
  for (size_t at = 0; at < bytes; at += page) {
    *(volatile char*)(block + at) = 1;
  }
  free(block);
}
static void use_64_kib(void) { use_block((size_t)64 << 10); }
static void use_512_kib(void) { use_block((size_t)512 << 10); }
static void use_4_mib(void) { use_block((size_t)4 << 20); }

void heap_costs(double seconds) {
  static const struct TimedCall calls[] = {{"64 KiB", use_64_kib}, {"512 KiB", use_512_kib}, {"4 MiB", use_4_mib}};
  time_calls("drop-in heap", calls, sizeof calls / sizeof calls[0], seconds);
}

void call_costs(double seconds) {
  static const struct TimedCall calls[] = {{"MPI_Allreduce", call_allreduce},
                                           {"MPI_Iallreduce and MPI_Wait", call_iallreduce},
                                           {"MPI_Wait", call_wait},
                                           {"MPI_Testall of 4", call_testall}};
  time_calls("drop-in calls", calls, sizeof calls / sizeof calls[0], seconds);
}
