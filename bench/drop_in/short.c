/* SPDX-License-Identifier: BSD-3-Clause */
/* Short reductions behind computation, as pipelined solvers make them: one after the other, without barriers. */
#include "drop_in.h"

#include <stdlib.h>
#include <string.h>

enum { learning_calls = 500, most_doubles = 128 };

struct Step {
  double start; /* seconds inside of MPI_Iallreduce, */
  double wait;  /* inside of MPI_Wait, */
  double whole; /* and of both and the computation */
};

static struct Step step(int doubles, long units, int call) {
  static double in[most_doubles];
  static double out_of_all[most_doubles];
  for (int i = 0; i < doubles; ++i) {
    in[i] = rank + call + i;
    out_of_all[i] = -1;
  }
  MPI_Request request;
  const double begin = MPI_Wtime();
  MPI_Iallreduce(in, out_of_all, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  const double started = MPI_Wtime();
  if (units > 0) {
    compute(units);
  }
  const double computed = MPI_Wtime();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double end = MPI_Wtime();
  for (int i = 0; i < doubles; ++i) {
    const int sum_of_ranks = ranks * (ranks - 1) / 2;
    if (out_of_all[i] != sum_of_ranks + (ranks * (call + i))) {
      fail("wrong data");
    }
  }
  return (struct Step){started - begin, end - computed, end - begin};
}

static double mean(const double* samples, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += samples[i];
  }
  return sum / count;
}

/* Exposed is the time of a rank that computes inside of its call; with several such ranks, of that with the most. */
static void measure(size_t bytes, double computation, int first_only, double seconds) {
  const int doubles = (int)(bytes / sizeof(double));
  const int computes = computation > 0 && (rank == 0 || !first_only);
  const int counts = rank == 0 || !first_only;
  const long units = computes ? units_for(computation) : 0;
  double* exposed = new_samples();
  double* starts = new_samples();
  double* wholes = new_samples();
  int count = learning_calls;
  double learning = 0;
  for (int part = 0; part < 2; ++part) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) {
      const struct Step s = step(doubles, units, i);
      exposed[i] = counts ? s.start + s.wait : 0;
      starts[i] = counts ? s.start : 0;
      wholes[i] = s.whole;
    }
    if (part == 0) {
      learning = mean(exposed, count);
      MPI_Allreduce(MPI_IN_PLACE, &learning, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      count = samples_for(seconds, mean(wholes, count));
    }
  }
  const double step_mean = mean(wholes, count);
  double exposed_mean = mean(exposed, count);
  MPI_Allreduce(MPI_IN_PLACE, &exposed_mean, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double exposed_median = median_of_slowest(exposed, count);
  const double start_median = median_of_slowest(starts, count);
  const double step_median = median_of_slowest(wholes, count);
  if (rank == 0) {
    fprintf(out,
            "{\"benchmark\":\"drop-in short\",\"bytes\":%zu,\"ranks\":%d,\"computation_us\":%.0f,\"samples\":%d,"
            "\"exposed_us\":%.2f,\"exposed_mean_us\":%.2f,\"start_us\":%.2f,\"learning_us\":%.2f,\"step_us\":%.2f,"
            "\"step_mean_us\":%.2f}\n",
            bytes, ranks, 1e6 * computation, count, 1e6 * exposed_median, 1e6 * exposed_mean, 1e6 * start_median,
            1e6 * learning, 1e6 * step_median, 1e6 * step_mean);
    fflush(out);
  }
  free(exposed);
  free(starts);
  free(wholes);
}

void short_reductions(size_t bytes, const char* computations, int first_only, double seconds) {
  if (bytes > most_doubles * sizeof(double)) {
    fail("at most 1024 bytes");
  }
  for (const char* at = computations; at != NULL; at = strchr(at, ',')) {
    at += *at == ',';
    measure(bytes, 1e-6 * atof(at), first_only, seconds);
  }
}
