// SPDX-License-Identifier: BSD-3-Clause
// A program that minds what is done to its process: signals, memory, children. It names nothing but MPI and the system.
//
//   guest SECTION
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library asks for it
#include "tests/rig/mpi_library.h"

#include <mpi.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { count = 20000 };

static int rank, ranks;
static int *in, *out;

static void demand(bool condition, const char* what) {
  if (!condition) {
    fprintf(stderr, "FAILED rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

// The launcher may preload something, too.
static bool under_drop_in(void) {
  const char* preloaded = getenv("LD_PRELOAD");
  return preloaded != NULL && strstr(preloaded, "libstoker-pmpi") != NULL;
}

static void begin_exchange(int epoch, MPI_Request* request) {
  for (int i = 0; i < count; ++i) {
    in[i] = rank + i + epoch;
  }
  MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
}

static void end_exchange(int epoch, MPI_Request* request) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) {
    demand(out[i] == ranks * (i + epoch) + ranks * (ranks - 1) / 2, "the sum is wrong");
  }
}

static void end_some_exchanges(void) {
  for (int epoch = 0; epoch < 5; ++epoch) {
    MPI_Request request = MPI_REQUEST_NULL;
    begin_exchange(epoch, &request);
    end_exchange(epoch, &request);
  }
}

// ---- signals

static unsigned long long blocked_signals(const char* task) {
  char path[300], line[200];
  unsigned long long mask = 0;
  snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
  FILE* file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    sscanf(line, "SigBlk: %llx", &mask);
  }
  if (file != NULL) {
    fclose(file);
  }
  return mask;
}

// Threads of the drop-in library block whatever the program may wait for or handle. (Those of the MPI libraries do
// not.)
static void signals(void) {
  static const int asked[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGPROF, SIGCONT, SIGXCPU};
  int seen = 0;
  for (int epoch = 0; epoch < 100; ++epoch) {
    MPI_Request request = MPI_REQUEST_NULL;
    begin_exchange(epoch, &request);
    DIR* tasks = opendir("/proc/self/task");
    for (struct dirent* task = readdir(tasks); task != NULL; task = readdir(tasks)) {
      char path[300], name[32] = "";
      snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
      FILE* file = fopen(path, "r");
      if (file != NULL) {
        (void)!fgets(name, sizeof name, file);
        fclose(file);
      }
      if (strncmp(name, "stoker", 6) != 0) {
        continue;
      }
      const unsigned long long mask = blocked_signals(task->d_name);
      if (access(path, F_OK) != 0) {
        continue; // it has ended meanwhile
      }
      ++seen;
      for (size_t i = 0; i < sizeof asked / sizeof *asked; ++i) {
        demand((mask >> (asked[i] - 1) & 1) != 0, "a signal of the program's may be taken by another's thread");
      }
    }
    closedir(tasks);
    end_exchange(epoch, &request);
  }
  int all_seen = 0;
  MPI_Allreduce(&seen, &all_seen, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  demand(all_seen > 0 || !under_drop_in(), "no thread was looked at");
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  demand(!sigismember(&now, SIGUSR1) && !sigismember(&now, SIGTERM), "the program's own mask was changed");
}

// ---- tracing

static int declared; // by the drop-in library, that all processes may trace this one

// In the place of the C library's.
int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  const unsigned long second = va_arg(list, unsigned long), third = va_arg(list, unsigned long),
                      fourth = va_arg(list, unsigned long), fifth = va_arg(list, unsigned long);
  va_end(list);
  Dl_info caller;
  if (option == PR_SET_PTRACER && dladdr(__builtin_return_address(0), &caller) != 0 &&
      strstr(caller.dli_fname, "stoker") != NULL) {
    ++declared;
  }
  return (int)syscall(SYS_prctl, option, second, third, fourth, fifth);
}

// Only where a node has several ranks that need it in order to attach, which is so in one mode of one security module.
static void tracing(void) {
  int scope = 0;
  FILE* yama = fopen("/proc/sys/kernel/yama/ptrace_scope", "r");
  if (yama != NULL) {
    demand(fscanf(yama, "%d", &scope) == 1, "the system does not tell who may trace");
    fclose(yama);
  }
  const char* nodes = getenv("STOKER_RANKS_PER_NODE");
  demand(declared == 0 || (scope == 1 && (nodes == NULL || atoi(nodes) != 1)), "all processes may trace this one");
  MPI_Request request = MPI_REQUEST_NULL;
  begin_exchange(0, &request);
  end_exchange(0, &request);
}

// ---- no threads to be had

static bool refusing; // threads to the drop-in library

// In the place of the C library's. The MPI libraries, written in C, get theirs.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the names of the C library are reserved
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  typedef int Create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  Dl_info caller;
  if (refusing && dladdr(__builtin_return_address(0), &caller) != 0 && strstr(caller.dli_fname, "stdc++") != NULL) {
    return EAGAIN;
  }
  Create* create = NULL;
  *(void**)&create = dlsym(RTLD_NEXT, "pthread_create");
  return create(thread, attributes, run, argument);
}

// Calls of many shapes on several communicators. One rank does other things between the start of a call and its wait,
// on which the others depend, so somebody has to go on with the call meanwhile.
static void exchanges(void) {
  MPI_Comm comms[3];
  for (int c = 0; c < 3; ++c) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
  }
  for (int round = 0; round < 40; ++round) {
    const int length = 17000 + 100 * (round / 2);
    MPI_Comm comm = comms[round % 3];
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < length; ++i) {
      in[i] = rank + i;
    }
    MPI_Iallreduce(in, out, length, MPI_INT, MPI_SUM, comm, &request);
    if (rank == 0 && round % 4 == 0) {
      MPI_Recv(&in[length], 1, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (round % 2 == 0) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int done = request == MPI_REQUEST_NULL; !done;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    if (rank == ranks - 1 && round % 4 == 0) {
      MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; i < length; ++i) {
      demand(out[i] == ranks * i + ranks * (ranks - 1) / 2, "the sum is wrong");
    }
  }
  for (int c = 0; c < 3; ++c) {
    MPI_Comm_free(&comms[c]);
  }
}

static void no_threads(void) { exchanges(); }

static void no_more_threads(void) {
  refusing = rank % 2 == 0;
  exchanges();
  refusing = true;
  exchanges();
}

// ---- communicators

enum { shaped = 66, shapes = 3, most_comms = 2300 };
static MPI_Comm made[most_comms];

static void exchange_on(MPI_Comm comm, int length) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < length; ++i) {
    in[i] = rank + i;
  }
  MPI_Iallreduce(in, out, length, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < length; ++i) {
    demand(out[i] == ranks * i + ranks * (ranks - 1) / 2, "the sum is wrong");
  }
}

// As many as there are to be had. What they are used for takes none away, but for those that the drop-in library has
// for itself, and is done when there are none, too.
static void communicators(void) {
  const char* budget = getenv("STOKER_PMPI_COMMUNICATORS");
  const int least = budget == NULL ? 1770 : shaped;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int round = 0; round < 2; ++round) {
    int count_made = 0;
    while (count_made < most_comms && MPI_Comm_dup(MPI_COMM_WORLD, &made[count_made]) == MPI_SUCCESS) {
      MPI_Comm_set_errhandler(made[count_made], MPI_ERRORS_ARE_FATAL);
      for (int shape = 0; round == 0 && count_made < shaped && shape < shapes; ++shape) {
        exchange_on(made[count_made], count / 2 + shape);
      }
      ++count_made;
    }
    demand(count_made >= least, "the program gets fewer communicators than it may expect");
    for (int c = 0; c < count_made; c += c < 2 * shaped ? 10 : 500) {
      exchange_on(made[c], count - round);
    }
    for (int c = 0; c < count_made; ++c) {
      MPI_Comm_free(&made[c]);
    }
  }
}

// ---- memory that is kept of communicators that are gone. Open MPI 4.1 loses some itself.

static void short_lived_communicators(void) {
  enum { rounds = 1500, warm = 500, most_bytes = 64 * 1024 };
  size_t before = 0;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    exchange_on(comm, count / 4);
    MPI_Comm_free(&comm);
    before = round == warm ? mallinfo2().uordblks : before;
  }
  const size_t after = mallinfo2().uordblks;
  if (!is_open_mpi() && after > before + most_bytes) {
    fprintf(stderr, "rank %d: %zu bytes, and %zu after %d more communicators\n", rank, before, after, rounds - warm);
    demand(false, "memory grows with the communicators that have been");
  }
}

// ---- ends and children, with calls under way: endings.py compares how the job ends

enum { under_way = 4, ending_status = 5 };
static MPI_Request left_behind[under_way];

static void begin_several(void) {
  for (int i = 0; i < under_way; ++i) {
    int* received = malloc(count * sizeof *received); // which the end takes along
    MPI_Iallreduce(in, received, count - i, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &left_behind[i]);
  }
}

static void exit_everywhere(void) {
  end_some_exchanges();
  begin_several();
  exit(0);
}

static void exit_of_one(void) {
  end_some_exchanges();
  if (rank == 0) {
    begin_several();
    exit(ending_status);
  }
  begin_several();
  MPI_Waitall(under_way, left_behind, MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void sudden_exit_of_one(void) {
  end_some_exchanges();
  begin_several();
  if (rank == ranks - 1) {
    _exit(ending_status);
  }
  MPI_Waitall(under_way, left_behind, MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void wait_for(pid_t child) {
  int status = 0;
  demand(child > 0 && waitpid(child, &status, 0) == child, "no child");
  demand(WIFEXITED(status) && WEXITSTATUS(status) == ending_status, "a child did not end as it should");
}

// Children that run another program, that end with their exit handlers, and that end without.
static void children(void) {
  for (int epoch = 0; epoch < 20; ++epoch) {
    MPI_Request request = MPI_REQUEST_NULL;
    begin_exchange(epoch, &request);
    pid_t child = fork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", "exit 5", (char*)NULL);
      _exit(1);
    }
    wait_for(child);
    child = fork();
    if (child == 0) {
      exit(in[7] == rank + 7 + epoch ? ending_status : 1);
    }
    wait_for(child);
    child = fork();
    if (child == 0) {
      _exit(ending_status);
    }
    wait_for(child);
    end_exchange(epoch, &request);
  }
}

// ---- a call that stalls, waited for next to a message

// Whether the drop-in library has logged that.
static bool stall_logged(const char* log) {
  FILE* file = fopen(log, "r");
  char line[1000];
  bool found = false;
  while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
    found = strstr(line, "has waited") != NULL;
  }
  if (file != NULL) {
    fclose(file);
  }
  return found;
}

static void stall(void) {
  char log[] = "/tmp/stoker-guest.XXXXXX";
  if (rank == 0) {
    fflush(stderr);
    const int file = mkostemp(log, O_APPEND);
    demand(file >= 0 && dup2(file, STDERR_FILENO) >= 0, "there is no file for the log");
    close(file);
  }
  MPI_Bcast(log, sizeof log, MPI_CHAR, 0, MPI_COMM_WORLD);
  // The requests of the first epochs are made while all ranks take part. The calls of a shape take turns at them, so that
  // the first of those that are told is told again at the end.
  enum { first_told = 8, requests_of_shape = 4, epochs = first_told + requests_of_shape + 1 };
  for (int epoch = 0; epoch < epochs; ++epoch) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int message = 0;
    const bool last = rank == ranks - 1;
    if (rank == 0) {
      MPI_Irecv(&message, 1, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD, &requests[0]);
    }
    const bool is_told = epoch >= first_told;
    for (bool logged = !is_told || !under_drop_in() || !last; !logged;) {
      logged = stall_logged(log);
      usleep(1000);
    }
    begin_exchange(epoch, &requests[1]);
    if (rank == 0 && epoch % 2 == 0) {
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 0) {
      for (int i = 0, index = 0; i < 2; ++i) {
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      }
    } else if (last) {
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      MPI_Send(&epoch, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    end_exchange(epoch, &requests[1]);
    if (rank == 0) {
      demand(truncate(log, 0) == 0, "the log cannot be emptied");
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) {
    unlink(log);
  }
}

// ----

typedef struct Section {
  const char* name;
  void (*run)(void);
} Section;
static const Section sections[] = {{"signals", signals},
                                   {"tracing", tracing},
                                   {"no-threads", no_threads},
                                   {"no-more-threads", no_more_threads},
                                   {"communicators", communicators},
                                   {"short-lived-communicators", short_lived_communicators},
                                   {"children", children},
                                   {"exit-everywhere", exit_everywhere},
                                   {"exit-of-one", exit_of_one},
                                   {"sudden-exit-of-one", sudden_exit_of_one},
                                   {"stall", stall}};

int main(int argc, char** argv) {
  refusing = argc == 2 && strcmp(argv[1], "no-threads") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  in = malloc(count * sizeof *in);
  out = malloc(count * sizeof *out);
  bool known = false;
  for (size_t i = 0; i < sizeof sections / sizeof *sections; ++i) {
    if (argc == 2 && strcmp(argv[1], sections[i].name) == 0) {
      sections[i].run();
      known = true;
    }
  }
  demand(known, "no such section");
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
