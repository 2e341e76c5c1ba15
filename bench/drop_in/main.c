/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program that knows nothing of stoker, to be run with and without libstoker-pmpi.so.
 *
 *   drop-in overlap [--collective LIST] [--bytes LIST] [--seconds S]
 *     A nonblocking collective, a computation as long as the blocking call takes, MPI_Wait. Everything is measured twice.
 *     First the computation has a fixed time, as in the OSU micro-benchmarks; it does not miss what others take of the
 *     core. Then it has a fixed amount, which takes as long if it is undisturbed. --bytes: size of the vector, or of the
 *     block for each rank.
 *   drop-in blocking [--seconds S]
 *     An application that gains nothing: small blocking collectives and messages between neighbours, with little
 *     computation.
 *   drop-in persistent [--collective LIST] [--bytes LIST] [--seconds S]
 *     A persistent collective that is waited for as soon as it is started, so that nothing can be gained. Default:
 *     alltoall, allreduce and bcast, which MPICH 4.0 carries out correctly, of 8 bytes to 1 MiB.
 *   drop-in calls [--seconds S]
 *     Calls that fall back, one after the other, on MPI_COMM_SELF.
 *
 * The program writes one line of JSON for each result, on standard output or appended to the file of --json. Data are
 * checked before anything is timed. */
#include <mpi.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define PERSISTENT(name) MPIX_##name##_init
#else
#define PERSISTENT(name) MPI_##name##_init
#endif

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { warm_up_calls = 40, warm_up_starts = 100, skipped_calls = 10, most_samples = 4096, chunk = 32 };

static int rank;
static int ranks;
static FILE* out;

static void fail(const char* what) {
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* --- computation --- */

static volatile double sink;

static void compute(long units) {
  double a = 0;
  double b = 2;
  for (long i = 0; i < units; ++i) {
    a = (a * 0.999) + 0.001;
    b = (b * 0.999) + 0.001;
  }
  sink = a + b;
}

/* As the OSU micro-benchmarks do. */
static void compute_for(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) {
    compute(250); /* about a microsecond */
  }
}

static long units_for(double seconds) {
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

/* --- samples --- */

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Of the slowest rank of each sample. */
static double median_of_slowest(double* samples, int count) {
  MPI_Allreduce(MPI_IN_PLACE, samples, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  qsort(samples, (size_t)count, sizeof *samples, ascending);
  return samples[count / 2];
}

static double* new_samples(void) {
  double* samples = malloc(most_samples * sizeof *samples);
  if (samples == NULL) {
    fail("out of memory");
  }
  return samples;
}

/* The same number of samples on all ranks, for about so long. */
static int samples_for(double seconds, double each) {
  double count = each > 0 ? seconds / each : most_samples;
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  return count < 5 ? 5 : count > most_samples ? most_samples : (int)count;
}

/* --- collectives --- */

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

static void overlap(const struct Collective* c, size_t bytes, double seconds) {
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

/* --- persistent calls without computation --- */

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

static void persistent(const struct Collective* c, size_t bytes, double seconds) {
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

/* --- an application that gains nothing --- */

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

static void blocking_application(double seconds) {
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

/* --- the cost of a call that falls back --- */

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

static void call_costs(double seconds) {
  static const struct {
    const char* name;
    void (*call)(void);
  } calls[] = {{"MPI_Allreduce", call_allreduce},
               {"MPI_Iallreduce and MPI_Wait", call_iallreduce},
               {"MPI_Wait", call_wait},
               {"MPI_Testall of 4", call_testall}};
  enum { kinds = sizeof calls / sizeof calls[0], loop = 1000 };
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
    qsort(samples, (size_t)count, sizeof *samples, ascending);
    if (rank == 0) {
      fprintf(out,
              "{\"benchmark\":\"drop-in calls\",\"call\":\"%s\",\"samples\":%d,\"call_ns\":%.2f,\"least_ns\":%.2f}\n",
              calls[kind].name, count, 1e9 * samples[count / 2], 1e9 * samples[0]);
      fflush(out);
    }
  }
  free(samples);
}

/* --- command line --- */

static void usage(void) {
  if (rank == 0) {
    fprintf(stderr, "usage: drop-in overlap|persistent [--collective LIST] [--bytes LIST] [--seconds S] [--json FILE]\n"
                    "       drop-in blocking|calls [--seconds S] [--json FILE]\n");
  }
  MPI_Finalize();
  exit(2);
}

static size_t bytes_of(const char* text) {
  char* end = NULL;
  size_t bytes = strtoul(text, &end, 10);
  if (*end == 'K' || *end == 'M') {
    bytes *= *end == 'K' ? 1024 : 1024 * 1024;
    ++end;
  }
  if (bytes < sizeof(double) || *end != '\0') {
    usage();
  }
  return bytes;
}

static int is_listed(const char* name, const char* list) {
  const size_t length = strlen(name);
  for (const char* at = list; at != NULL; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
      return 1;
    }
  }
  return 0;
}

static void each_point(void (*measure)(const struct Collective* c, size_t bytes, double seconds), const char* names,
                       char* sizes, double seconds) {
  for (char* size = strtok(sizes, ","); size != NULL; size = strtok(NULL, ",")) {
    for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; ++c) {
      if (is_listed(collectives[c].name, names)) {
        measure(&collectives[c], bytes_of(size), seconds);
      }
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* names = NULL;
  char* sizes = NULL;
  const char* json = NULL;
  double seconds = 2;
  static const struct option options[] = {{"collective", required_argument, NULL, 'c'},
                                          {"bytes", required_argument, NULL, 'b'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"seconds", required_argument, NULL, 's'},
                                          {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    switch (option) {
    case 'c':
      names = optarg;
      break;
    case 'b':
      sizes = optarg;
      break;
    case 'j':
      json = optarg;
      break;
    case 's':
      seconds = atof(optarg);
      break;
    default:
      usage();
    }
  }
  if (optind + 1 != argc) {
    usage();
  }
  out = rank == 0 && json != NULL ? fopen(json, "a") : stdout;
  if (out == NULL) {
    fail("the file of --json cannot be written");
  }
  if (strcmp(argv[optind], "overlap") == 0) {
    char preset[] = "256K,1M,4M";
    each_point(overlap, names != NULL ? names : "alltoall,allreduce,bcast,allgather,reduce",
               sizes != NULL ? sizes : preset, seconds);
  } else if (strcmp(argv[optind], "persistent") == 0) {
    char preset[] = "8,1K,16K,256K,1M";
    each_point(persistent, names != NULL ? names : "alltoall,allreduce,bcast", sizes != NULL ? sizes : preset, seconds);
  } else if (strcmp(argv[optind], "blocking") == 0) {
    blocking_application(seconds);
  } else if (strcmp(argv[optind], "calls") == 0) {
    call_costs(seconds);
  } else {
    usage();
  }
  MPI_Finalize();
  return 0;
}
