/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking collectives with computation, persistent ones without. */
#include "drop_in.h"

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define PERSISTENT(name) MPIX_##name##_init
#else
#define PERSISTENT(name) MPI_##name##_init
#endif

#include <stdlib.h>
#include <string.h>

enum { warm_up_calls = 40, warm_up_starts = 100, skipped_calls = 10, first_calls = 100 };

struct Buffers {
  double* send;
  double* recv;
  int count; /* doubles of the vector or of a block */
};

typedef int (*Nonblocking)(const struct Buffers* b, MPI_Request* request); /* and persistent */
typedef int (*Blocking)(const struct Buffers* b);

static int ialltoall(const struct Buffers* b, MPI_Request* request) {
  return MPI_Ialltoall(b->send, b->count, MPI_DOUBLE, b->recv, b->count, MPI_DOUBLE, MPI_COMM_WORLD, request);
}
static int alltoall(const struct Buffers* b) {
  return MPI_Alltoall(b->send, b->count, MPI_DOUBLE, b->recv, b->count, MPI_DOUBLE, MPI_COMM_WORLD);
}
static int iallreduce(const struct Buffers* b, MPI_Request* request) {
  return MPI_Iallreduce(b->send, b->recv, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
}
static int allreduce(const struct Buffers* b) {
  return MPI_Allreduce(b->send, b->recv, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static int ibcast(const struct Buffers* b, MPI_Request* request) {
  return MPI_Ibcast(rank == 0 ? b->send : b->recv, b->count, MPI_DOUBLE, 0, MPI_COMM_WORLD, request);
}
static int bcast(const struct Buffers* b) {
  return MPI_Bcast(rank == 0 ? b->send : b->recv, b->count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static int iallgather(const struct Buffers* b, MPI_Request* request) {
  return MPI_Iallgather(b->send, b->count, MPI_DOUBLE, b->recv, b->count, MPI_DOUBLE, MPI_COMM_WORLD, request);
}
static int allgather(const struct Buffers* b) {
  return MPI_Allgather(b->send, b->count, MPI_DOUBLE, b->recv, b->count, MPI_DOUBLE, MPI_COMM_WORLD);
}
static int ireduce(const struct Buffers* b, MPI_Request* request) {
  return MPI_Ireduce(b->send, b->recv, b->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, request);
}
static int reduce(const struct Buffers* b) {
  return MPI_Reduce(b->send, b->recv, b->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static int alltoall_init(const struct Buffers* b, MPI_Request* request) {
  return PERSISTENT(Alltoall)(b->send, b->count, MPI_DOUBLE, b->recv, b->count, MPI_DOUBLE, MPI_COMM_WORLD,
                              MPI_INFO_NULL, request);
}
static int allreduce_init(const struct Buffers* b, MPI_Request* request) {
  return PERSISTENT(Allreduce)(b->send, b->recv, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request);
}
static int bcast_init(const struct Buffers* b, MPI_Request* request) {
  return PERSISTENT(Bcast)(rank == 0 ? b->send : b->recv, b->count, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                           request);
}
static int allgather_init(const struct Buffers* b, MPI_Request* request) {
  return PERSISTENT(Allgather)(b->send, b->count, MPI_DOUBLE, b->recv, b->count, MPI_DOUBLE, MPI_COMM_WORLD,
                               MPI_INFO_NULL, request);
}
static int reduce_init(const struct Buffers* b, MPI_Request* request) {
  return PERSISTENT(Reduce)(b->send, b->recv, b->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request);
}

static const struct Collective {
  const char* name;
  Nonblocking start;
  Blocking call;
  Nonblocking init;
} collectives[] = {
    {"alltoall", ialltoall, alltoall, alltoall_init},
    {"allreduce", iallreduce, allreduce, allreduce_init},
    {"bcast", ibcast, bcast, bcast_init},
    {"allgather", iallgather, allgather, allgather_init},
    {"reduce", ireduce, reduce, reduce_init},
};

const struct Collective* collective_at(size_t index) {
  return index < sizeof collectives / sizeof collectives[0] ? &collectives[index] : NULL;
}

const char* name_of(const struct Collective* c) { return c->name; }

static void wait_for(MPI_Request* request) { MPI_Wait(request, MPI_STATUS_IGNORE); }

/* The nonblocking call, or the persistent one, against the blocking one, whose results it must have. */
static void check(const struct Collective* c, const struct Buffers* b, size_t doubles, MPI_Request* persistent) {
  double* expected = malloc(doubles * sizeof *expected);
  if (expected == NULL) {
    fail("out of memory");
  }
  for (int call = 0; call < warm_up_calls; ++call) {
    for (size_t i = 0; i < doubles; ++i) {
      b->send[i] = (double)((i + (size_t)(3 * rank) + (size_t)call) % 1000);
      b->recv[i] = -1;
    }
    c->call(b);
    memcpy(expected, b->recv, doubles * sizeof *expected);
    for (size_t i = 0; i < doubles; ++i) {
      b->recv[i] = -2;
    }
    MPI_Request request;
    if (persistent != NULL) {
      MPI_Start(persistent);
      wait_for(persistent);
    } else {
      c->start(b, &request);
      wait_for(&request);
    }
    for (size_t i = 0; i < doubles; ++i) {
      if (b->recv[i] != expected[i] && !(b->recv[i] == -2 && expected[i] == -1)) {
        fail("wrong data");
      }
    }
  }
  free(expected);
}

/* Seconds of the blocking call, and of the nonblocking one without computation. */
static double time_blocking(const struct Collective* c, const struct Buffers* b, double* samples, int count) {
  for (int i = 0; i < count; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    c->call(b);
    samples[i] = MPI_Wtime() - begin;
  }
  return median_of_slowest(samples, count);
}

/* Computation: units of it, or, if there are none, as long by the clock; or none. */
struct Computation {
  long units;
  double seconds;
};

static void do_compute(const struct Computation* computation) {
  if (computation->units > 0) {
    compute(computation->units);
  } else if (computation->seconds > 0) {
    compute_for(computation->seconds);
  }
}

static double time_step(const struct Collective* c, const struct Buffers* b, struct Computation computation,
                        double* samples, int count) {
  for (int i = -skipped_calls; i < count; ++i) { /* OSU's benchmarks skip as many of long messages */
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Request request;
    c->start(b, &request);
    do_compute(&computation);
    wait_for(&request);
    if (i >= 0) {
      samples[i] = MPI_Wtime() - begin;
    }
  }
  return median_of_slowest(samples, count);
}

static double time_computation(struct Computation computation, double* samples, int count) {
  for (int i = 0; i < count; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    do_compute(&computation);
    samples[i] = MPI_Wtime() - begin;
  }
  return median_of_slowest(samples, count);
}

static double longer(double a, double b) { return a > b ? a : b; }

static struct Buffers buffers_of(size_t doubles, size_t bytes) {
  const struct Buffers b = {malloc(doubles * sizeof(double)), malloc(doubles * sizeof(double)),
                            (int)(bytes / sizeof(double))};
  if (b.send == NULL || b.recv == NULL) {
    fail("out of memory");
  }
  return b;
}

void overlap(const struct Collective* c, size_t bytes, double seconds) {
  const size_t doubles = bytes / sizeof(double) * (size_t)ranks;
  const struct Buffers b = buffers_of(doubles, bytes);
  double* samples = new_samples();
  check(c, &b, doubles, NULL);
  double blocking = time_blocking(c, &b, samples, 5);
  const int count = samples_for(seconds / 7, blocking);
  blocking = time_blocking(c, &b, samples, count);
  const double pure = time_step(c, &b, (struct Computation){0, 0}, samples, count);
  const struct Computation by_clock = {0, blocking};
  const struct Computation work = {units_for(blocking), 0};
  const double clock_computation = time_computation(by_clock, samples, count);
  const double clock_overall = time_step(c, &b, by_clock, samples, count);
  const double work_computation = time_computation(work, samples, count);
  const double work_overall = time_step(c, &b, work, samples, count);
  if (rank == 0) {
    fprintf(out,
            "{\"benchmark\":\"drop-in overlap\",\"collective\":\"%s\",\"bytes\":%zu,\"ranks\":%d,\"samples\":%d,"
            "\"blocking_us\":%.2f,\"pure_us\":%.2f,\"clock_computation_us\":%.2f,\"clock_overall_us\":%.2f,"
            "\"clock_efficiency\":%.4f,\"work_computation_us\":%.2f,\"work_overall_us\":%.2f,"
            "\"work_efficiency\":%.4f}\n",
            c->name, bytes, ranks, count, 1e6 * blocking, 1e6 * pure, 1e6 * clock_computation, 1e6 * clock_overall,
            longer(clock_computation, blocking) / clock_overall, 1e6 * work_computation, 1e6 * work_overall,
            longer(work_computation, blocking) / work_overall);
    fflush(out);
  }
  free(samples);
  free(b.send);
  free(b.recv);
}

static void time_calls_on(const struct Buffers* b, const struct Collective* c, const char* memory, size_t bytes,
                          double seconds) {
  const size_t doubles = bytes / sizeof(double) * (size_t)ranks;
  double* samples = new_samples();
  check(c, b, doubles, NULL);
  const int count = samples_for(seconds, time_blocking(c, b, samples, warm_up_starts));
  const double median = time_blocking(c, b, samples, count);
  if (rank == 0) {
    fprintf(out,
            "{\"benchmark\":\"drop-in blocking calls\",\"collective\":\"%s\",\"memory\":\"%s\",\"bytes\":%zu,"
            "\"ranks\":%d,\"samples\":%d,\"call_us\":%.3f}\n",
            c->name, memory, bytes, ranks, count, 1e6 * median);
    fflush(out);
  }
  free(samples);
}

void calls_on_heap(const struct Collective* c, size_t bytes, double seconds) {
  const struct Buffers b = buffers_of(bytes / sizeof(double) * (size_t)ranks, bytes);
  time_calls_on(&b, c, "heap", bytes, seconds);
  free(b.send);
  free(b.recv);
}

void calls_on_alloc_mem(const struct Collective* c, size_t bytes, double seconds) {
  struct Buffers b = {NULL, NULL, (int)(bytes / sizeof(double))};
  const MPI_Aint length = (MPI_Aint)(bytes * (size_t)ranks);
  if (MPI_Alloc_mem(length, MPI_INFO_NULL, &b.send) != MPI_SUCCESS ||
      MPI_Alloc_mem(length, MPI_INFO_NULL, &b.recv) != MPI_SUCCESS) {
    fail("out of memory");
  }
  time_calls_on(&b, c, "alloc_mem", bytes, seconds);
  MPI_Free_mem(b.send);
  MPI_Free_mem(b.recv);
}

void first_hundred_calls(const struct Collective* c, size_t bytes, double seconds) {
  const size_t doubles = bytes / sizeof(double) * (size_t)ranks;
  const struct Buffers b = buffers_of(doubles, bytes);
  for (size_t i = 0; i < doubles; ++i) { /* the first calls would find pages that do not exist yet */
    b.send[i] = b.recv[i] = (double)(i % 1000);
  }
  double* samples = new_samples();
  const double first_median = time_blocking(c, &b, samples, first_calls);
  double first_sum = 0;
  for (int i = 0; i < first_calls; ++i) {
    first_sum += samples[i];
  }
  const int count = samples_for(seconds, first_median);
  const double median = time_blocking(c, &b, samples, count);
  check(c, &b, doubles, NULL);
  if (rank == 0) {
    fprintf(out,
            "{\"benchmark\":\"drop-in first calls\",\"collective\":\"%s\",\"bytes\":%zu,\"ranks\":%d,"
            "\"first_calls\":%d,\"first_mean_us\":%.3f,\"samples\":%d,\"call_us\":%.3f}\n",
            c->name, bytes, ranks, first_calls, 1e6 * first_sum / first_calls, count, 1e6 * median);
    fflush(out);
  }
  free(samples);
  free(b.send);
  free(b.recv);
}

static double time_starts(MPI_Request* request, double* samples, int count) {
  for (int i = 0; i < count; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Start(request);
    wait_for(request);
    samples[i] = MPI_Wtime() - begin;
  }
  return median_of_slowest(samples, count);
}

void persistent(const struct Collective* c, size_t bytes, double seconds) {
  const size_t doubles = bytes / sizeof(double) * (size_t)ranks;
  const struct Buffers b = buffers_of(doubles, bytes);
  double* samples = new_samples();
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  MPI_Request request;
  c->init(&b, &request);
  const double init = MPI_Wtime() - begin;
  check(c, &b, doubles, &request);
  const int count = samples_for(seconds, time_starts(&request, samples, warm_up_starts));
  const double median = time_starts(&request, samples, count);
  if (rank == 0) {
    fprintf(out,
            "{\"benchmark\":\"drop-in persistent\",\"collective\":\"%s\",\"bytes\":%zu,\"ranks\":%d,\"samples\":%d,"
            "\"init_us\":%.2f,\"call_us\":%.3f}\n",
            c->name, bytes, ranks, count, 1e6 * init, 1e6 * median);
    fflush(out);
  }
  MPI_Request_free(&request);
  free(samples);
  free(b.send);
  free(b.recv);
}
