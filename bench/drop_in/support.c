/* SPDX-License-Identifier: BSD-3-Clause */
/* Computation and samples. */
#include "drop_in.h"

#include <stdlib.h>

int rank;
int ranks;
FILE* out;

void fail(const char* what) {
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static volatile double sink;

void compute(long units) {
  double a = 0;
  double b = 2;
  for (long i = 0; i < units; ++i) {
    a = (a * 0.999) + 0.001;
    b = (b * 0.999) + 0.001;
  }
  sink = a + b;
}

/* As the OSU micro-benchmarks do. */
void compute_for(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) {
    compute(250); /* about a microsecond */
  }
}

long units_for(double seconds) {
  long units = 1000;
  for (;;) {
    const double begin = MPI_Wtime();
    compute(units);
    const double took = MPI_Wtime() - begin;
    if (took > 0.005) {
      return (long)((double)units * seconds / took);
    }
    units *= 2;
  }
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

void sort_samples(double* samples, int count) { qsort(samples, (size_t)count, sizeof *samples, ascending); }

double median_of_slowest(double* samples, int count) {
  MPI_Allreduce(MPI_IN_PLACE, samples, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  sort_samples(samples, count);
  return samples[count / 2];
}

double* new_samples(void) {
  double* samples = malloc(most_samples * sizeof *samples);
  if (samples == NULL) {
    fail("out of memory");
  }
  return samples;
}

int samples_for(double seconds, double each) {
  double count = each > 0 ? seconds / each : most_samples;
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  return count < 5 ? 5 : count > most_samples ? most_samples : (int)count;
}
