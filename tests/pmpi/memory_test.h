// SPDX-License-Identifier: BSD-3-Clause
// What heap.c and memory.c have in common: where memory lies, as the system tells it, children, and sections.
#pragma once

#include <mpi.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { megabyte = 1 << 20, child_status = 5 };

static int rank, ranks;
static bool from_arena; // once there is MPI, long blocks have to come from the arena; else none may

static inline void demand(bool condition, const char* what) {
  if (!condition) {
    fprintf(stderr, "FAILED rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static inline bool lies_in_arena(const void* memory) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[1000];
  bool in_arena = false;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    uintptr_t begin = 0, end = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 && (uintptr_t)memory >= begin &&
        (uintptr_t)memory < end) {
      in_arena = strstr(line, "stoker-arena") != NULL;
    }
  }
  if (maps != NULL) {
    fclose(maps);
  }
  return in_arena;
}

// How many ranks' this process has mapped.
static inline int arenas(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[1000];
  uintmax_t files[64] = {0};
  int count = 0;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    uintmax_t file = 0;
    if (strstr(line, "stoker-arena") != NULL && sscanf(line, "%*s %*s %*s %*s %" SCNuMAX, &file) == 1) {
      int known = 0;
      while (known < count && files[known] != file) {
        ++known;
      }
      if (known == count && count < 64) {
        files[count++] = file;
      }
    }
  }
  if (maps != NULL) {
    fclose(maps);
  }
  return count;
}

static inline int status_of(pid_t child) {
  int status = 0;
  demand(child > 0 && waitpid(child, &status, 0) == child, "there is no child");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

typedef struct Section {
  const char* name;
  void (*run)(void);
} Section;

// Initialises MPI, and runs the sections that the command line names: [--arena] SECTION...
static inline void run_sections(int argc, char** argv, const Section* sections, size_t count) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  from_arena = argc > 1 && strcmp(argv[1], "--arena") == 0;
  for (int i = from_arena ? 2 : 1; i < argc; ++i) {
    size_t s = 0;
    while (s < count && strcmp(argv[i], sections[s].name) != 0) {
      ++s;
    }
    demand(s < count, "no such section");
    if (rank == 0) {
      printf("%s\n", argv[i]);
      fflush(stdout);
    }
    sections[s].run();
  }
}
