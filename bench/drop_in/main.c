/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program that knows nothing of stoker, to be run with and without libstoker-pmpi.so.
 *
 *   drop-in overlap [--collective LIST] [--bytes LIST] [--seconds S]
 *     A nonblocking collective, a computation as long as the blocking call takes, MPI_Wait. Everything is measured
 *     twice. First the computation has a fixed time, as in the OSU micro-benchmarks; it does not miss what others take
 *     of the core. Then it has a fixed amount, which takes as long if it is undisturbed. --bytes: size of the vector,
 *     or of the block for each rank.
 *   drop-in blocking-calls [--collective LIST] [--bytes LIST] [--memory heap|alloc_mem] [--seconds S]
 *     Blocking collectives in a loop, as in the OSU micro-benchmarks, between buffers from malloc or MPI_Alloc_mem.
 *   drop-in first-calls [--collective LIST] [--bytes LIST] [--seconds S]
 *     The first hundred calls of a blocking collective, in which the library learns, and those that follow. Nothing of
 *     that collective and length has been called before.
 *   drop-in heap [--seconds S]
 *     What it costs to allocate a block, to write to all of its pages, and to free it.
 *   drop-in blocking [--seconds S]
 *     An application that gains nothing: small blocking collectives and messages between neighbours, with little
 *     computation.
 *   drop-in persistent [--collective LIST] [--bytes LIST] [--seconds S]
 *     A persistent collective that is waited for as soon as it is started, so that nothing can be gained. Default:
 *     alltoall, allreduce and bcast, which MPICH 4.0 carries out correctly, of 8 bytes to 1 MiB.
 *   drop-in short [--bytes LIST] [--compute-us LIST] [--computing first|all] [--seconds S]
 *     MPI_Iallreduce of few bytes, a computation of so many microseconds, MPI_Wait, and so on: what a call costs a rank
 *     that computes, once the library has learned and while it does. --computing first: the others wait at once.
 *   drop-in calls [--seconds S]
 *     Calls that fall back, one after the other, on MPI_COMM_SELF.
 *
 *   drop-in messages [--bytes LIST] [--seconds S]
 *     Pairs of ranks exchange a message by MPI_Irecv and MPI_Isend, compute for as long as the exchange takes alone, and
 *     wait. The computation has a fixed amount.
 *   drop-in message-calls [--seconds S]
 *     Calls that start and complete messages, one after the other, on MPI_COMM_SELF.
 *
 * The program writes one line of JSON for each result, on standard output or appended to the file of --json. Data are
 * checked before anything is timed. */
#include "drop_in.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static void usage(void) {
  if (rank == 0) {
    fprintf(stderr, "usage: drop-in overlap|persistent [--collective LIST] [--bytes LIST] [--seconds S] [--json FILE]\n"
                    "       drop-in first-calls [--collective LIST] [--bytes LIST] [--seconds S] [--json FILE]\n"
                    "       drop-in blocking-calls [--collective LIST] [--bytes LIST] [--memory heap|alloc_mem] "
                    "[--seconds S] [--json FILE]\n"
                    "       drop-in short [--bytes LIST] [--compute-us LIST] [--computing first|all] [--seconds S] "
                    "[--json FILE]\n"
                    "       drop-in messages [--bytes LIST] [--seconds S] [--json FILE]\n"
                    "       drop-in blocking|calls|heap|message-calls [--seconds S] [--json FILE]\n");
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
    for (size_t i = 0; collective_at(i) != NULL; ++i) {
      if (is_listed(name_of(collective_at(i)), names)) {
        measure(collective_at(i), bytes_of(size), seconds);
      }
    }
  }
}

/* Whether it is one of those that take points; names and sizes may be NULL. */
static int runs_by_points(const char* benchmark, const char* names, char* sizes, int on_alloc_mem, double seconds) {
  const struct {
    const char* name;
    void (*measure)(const struct Collective* c, size_t bytes, double seconds);
    const char* names;
    char sizes[32];
  } by_points[] = {
      {"overlap", overlap, "alltoall,allreduce,bcast,allgather,reduce", "256K,1M,4M"},
      {"blocking-calls", on_alloc_mem ? calls_on_alloc_mem : calls_on_heap, "alltoall,allreduce", "64K,256K,1M,4M"},
      {"first-calls", first_hundred_calls, "alltoall,allreduce,bcast,allgather,reduce", "8,1K,16K,64K,256K,1M"},
      {"persistent", persistent, "alltoall,allreduce,bcast", "8,1K,16K,256K,1M"}};
  for (size_t i = 0; i < sizeof by_points / sizeof by_points[0]; ++i) {
    if (strcmp(benchmark, by_points[i].name) == 0) {
      char preset[sizeof by_points[i].sizes];
      strcpy(preset, by_points[i].sizes);
      each_point(by_points[i].measure, names != NULL ? names : by_points[i].names, sizes != NULL ? sizes : preset,
                 seconds);
      return 1;
    }
  }
  return 0;
}

/* Whether it is one of those that take no points. */
static int runs_plainly(const char* benchmark, double seconds) {
  static const struct {
    const char* name;
    void (*run)(double seconds);
  } plain[] = {{"blocking", blocking_application},
               {"calls", call_costs},
               {"heap", heap_costs},
               {"message-calls", message_call_costs}};
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; ++i) {
    if (strcmp(benchmark, plain[i].name) == 0) {
      plain[i].run(seconds);
      return 1;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* names = NULL;
  char* sizes = NULL;
  const char* json = NULL;
  char every_computation[] = "0,50,200,500,1000,2000";
  char* computations = every_computation;
  int first_only = 0;
  int on_alloc_mem = 0;
  double seconds = 2;
  static const struct option options[] = {
      {"collective", required_argument, NULL, 'c'}, {"bytes", required_argument, NULL, 'b'},
      {"compute-us", required_argument, NULL, 'u'}, {"computing", required_argument, NULL, 'w'},
      {"memory", required_argument, NULL, 'm'},     {"json", required_argument, NULL, 'j'},
      {"seconds", required_argument, NULL, 's'},    {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    switch (option) {
    case 'c':
      names = optarg;
      break;
    case 'b':
      sizes = optarg;
      break;
    case 'u':
      computations = optarg;
      break;
    case 'w':
      first_only = strcmp(optarg, "first") == 0;
      break;
    case 'm':
      on_alloc_mem = strcmp(optarg, "alloc_mem") == 0;
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
  if (strcmp(argv[optind], "short") == 0) {
    char preset[] = "8,24,64,256,1024";
    for (char* size = strtok(sizes != NULL ? sizes : preset, ","); size != NULL; size = strtok(NULL, ",")) {
      short_reductions(bytes_of(size), computations, first_only, seconds);
    }
  } else if (strcmp(argv[optind], "messages") == 0) {
    char preset[] = "256K,1M,4M";
    for (char* size = strtok(sizes != NULL ? sizes : preset, ","); size != NULL; size = strtok(NULL, ",")) {
      message_overlap(bytes_of(size), seconds);
    }
  } else if (!runs_by_points(argv[optind], names, sizes, on_alloc_mem, seconds) &&
             !runs_plainly(argv[optind], seconds)) {
    usage();
  }
  MPI_Finalize();
  return 0;
}
