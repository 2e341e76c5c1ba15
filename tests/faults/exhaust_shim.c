// SPDX-License-Identifier: BSD-3-Clause
// Preloaded behind the drop-in library: a resource of a rank, or of all, runs out at a moment, and may come back. From
// the environment:
//
//   EXHAUST_WHAT   threads, segments (what stoker's shared memory grows by), communicators, tags, or nothing
//   EXHAUST_RANK   -1 for all
//   EXHAUST_FROM, EXHAUST_UNTIL   milliseconds since the process began
//   EXHAUST_TAGS   that the MPI library seems to have, on all ranks as MPI demands
//
// MPI refuses a communicator on all of its ranks or on none, as MPICH does when one has none left. A process that
// crashes writes to the file crash.RANK, in the folder of the job, which program or library it was in: the first one in
// the list of callers that is not the system's.
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library asks for it
#include <mpi.h>

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static const char* what = "nothing";
static bool is_victim = false;
static double began, from, until;
static int few_tags = 0;
static char crash_file[4096];

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static bool runs_out(const char* which) {
  const double since = now_ms() - began;
  return is_victim && strcmp(what, which) == 0 && since >= from && since < until;
}

static const char* setting(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value != NULL ? value : otherwise;
}

// Headers have other names for parameters, and names of types and functions cannot be in parentheses.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name,bugprone-macro-parentheses)
#define REAL(name)                                                                                                     \
  __typeof__(&name) real = NULL;                                                                                       \
  *(void**)&real = dlsym(RTLD_NEXT, #name)

// ---- the system

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  REAL(pthread_create);
  return runs_out("threads") ? EAGAIN : real(thread, attributes, run, argument);
}

static bool is_segment(int fd) {
  char path[64], target[64] = "";
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return readlink(path, target, sizeof target - 1) > 0 && strstr(target, "stoker-arena") != NULL;
}

int memfd_create(const char* name, unsigned flags) {
  REAL(memfd_create);
  if (strcmp(name, "stoker-arena") == 0 && runs_out("segments")) {
    errno = ENOMEM;
    return -1;
  }
  return real(name, flags);
}

static bool cannot_grow(int fd) {
  const bool refused = runs_out("segments") && is_segment(fd);
  errno = refused ? ENOSPC : errno;
  return refused;
}
// Both names, of which the headers may turn one into the other.
int exhaust_ftruncate(int fd, off_t length) __asm__("ftruncate");
int exhaust_ftruncate(int fd, off_t length) {
  REAL(ftruncate);
  return cannot_grow(fd) ? -1 : real(fd, length);
}
int exhaust_ftruncate64(int fd, off_t length) __asm__("ftruncate64");
int exhaust_ftruncate64(int fd, off_t length) {
  REAL(ftruncate);
  return cannot_grow(fd) ? -1 : real(fd, length);
}

// Pages that are to be had at once; only stoker asks for such.
int madvise(void* address, size_t length, int advice) {
  REAL(madvise);
  enum { populate_write = 23 };
  if (advice == populate_write && runs_out("segments")) {
    errno = ENOMEM;
    return -1;
  }
  return real(address, length, advice);
}

// ---- the MPI library

static int refuse(MPI_Comm comm, bool* refused) {
  __typeof__(&PMPI_Allreduce) reduce = NULL;
  *(void**)&reduce = dlsym(RTLD_NEXT, "PMPI_Allreduce");
  int inter = 0, mine = runs_out("communicators");
  PMPI_Comm_test_inter(comm, &inter);
  *refused = strcmp(what, "communicators") == 0 && inter == 0 &&
             reduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS && mine != 0;
  return *refused ? PMPI_Comm_call_errhandler(comm, MPI_ERR_INTERN), MPI_ERR_INTERN : MPI_SUCCESS;
}

#define MAKES_COMM(name, parameters, parent, arguments)                                                                \
  int P##name parameters {                                                                                             \
    REAL(P##name);                                                                                                     \
    bool refused = false;                                                                                              \
    const int code = refuse(parent, &refused);                                                                         \
    return refused ? code : real arguments;                                                                            \
  }                                                                                                                    \
  int name parameters { return P##name arguments; }

MAKES_COMM(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm* made), comm, (comm, made))
MAKES_COMM(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), comm, (comm, group, made))
MAKES_COMM(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), comm, (comm, color, key, made))
MAKES_COMM(MPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made), comm,
           (comm, type, key, info, made))
MAKES_COMM(MPI_Cart_create, (MPI_Comm comm, int n, const int* dims, const int* periods, int reorder, MPI_Comm* made),
           comm, (comm, n, dims, periods, reorder, made))
MAKES_COMM(MPI_Dist_graph_create_adjacent,
           (MPI_Comm comm, int in, const int* sources, const int* in_weights, int out, const int* targets,
            const int* out_weights, MPI_Info info, int reorder, MPI_Comm* made),
           comm, (comm, in, sources, in_weights, out, targets, out_weights, info, reorder, made))

// Here the ranks of the new communicator agree; the others of `comm` do not take part.
int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  REAL(PMPI_Comm_create_group);
  bool refused = false;
  int code = real(comm, group, tag, made);
  if (code == MPI_SUCCESS && *made != MPI_COMM_NULL) {
    code = refuse(*made, &refused);
  }
  if (refused) {
    PMPI_Comm_free(made);
  }
  return code;
}
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  return PMPI_Comm_create_group(comm, group, tag, made);
}

int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag) {
  REAL(PMPI_Comm_get_attr);
  const int code = real(comm, keyval, value, flag);
  if (code == MPI_SUCCESS && keyval == MPI_TAG_UB && *flag != 0 && few_tags > 0) {
    *(int**)value = &few_tags;
  }
  return code;
}
int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag) {
  return PMPI_Comm_get_attr(comm, keyval, value, flag);
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name,bugprone-macro-parentheses)
// ---- crashes

static bool is_systems(const char* file) {
  static const char* const names[] = {"libc.so", "libpthread", "libstdc++", "libgcc_s", "ld-linux", "exhaust_shim"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strstr(file, names[i]) != NULL) {
      return true;
    }
  }
  return false;
}

// Takes no memory from the heap, of which there may be none.
static void crash(int number) {
  void* callers[64];
  const int count = backtrace(callers, 64);
  const int file = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const char* guilty = NULL;
  for (int i = 0; i < count && guilty == NULL; ++i) {
    Dl_info info;
    if (dladdr(callers[i], &info) != 0 && info.dli_fname != NULL && !is_systems(info.dli_fname)) {
      guilty = info.dli_fname;
    }
  }
  if (file >= 0) {
    (void)dprintf(file, "signal %d in %s\n", number, guilty != NULL ? guilty : "the system");
    backtrace_symbols_fd(callers, count, file);
    close(file);
  }
  raise(number); // with its default action
}

__attribute__((constructor)) static void begin(void) {
  began = now_ms();
  what = setting("EXHAUST_WHAT", "nothing");
  from = strtod(setting("EXHAUST_FROM", "0"), NULL);
  until = strtod(setting("EXHAUST_UNTIL", "1e18"), NULL);
  const long victim = strtol(setting("EXHAUST_RANK", "-1"), NULL, 10);
  const char* rank = setting("PMI_RANK", setting("OMPI_COMM_WORLD_RANK", ""));
  is_victim = *rank != '\0' && (victim < 0 || victim == strtol(rank, NULL, 10));
  few_tags = (int)strtol(setting("EXHAUST_TAGS", "0"), NULL, 10); // MPI has as many on all ranks
  if (*rank == '\0') {
    return; // a launcher
  }
  (void)snprintf(crash_file, sizeof crash_file, "%s/crash.%s", setting("FAULT_TEST_JOB", "/tmp"), rank);
  void* none = NULL;
  (void)backtrace(&none, 1); // loads what it needs, while there is memory
  const struct sigaction action = {.sa_handler = crash, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
  const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    sigaction(numbers[i], &action, NULL);
  }
}
