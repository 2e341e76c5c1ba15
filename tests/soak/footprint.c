// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library asks for it
#include "tests/soak/footprint.h"
#include "tests/rig/mpi_library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char* const measure_names[measure_count] = {"heap KiB",    "private KiB", "shared KiB",    "segment KiB",
                                                  "descriptors", "threads",     "communicators", "highest tag"};

// What UCX has made for datatypes and MPICH 4.0 never gives back, a piece for each that was committed.
static atomic_long forgotten = 0;
enum { bytes_of_forgotten = 64 };

int ucp_dt_create_generic(const void* operations, void* context, uint64_t* type);
int ucp_dt_create_generic(const void* operations, void* context, uint64_t* type) {
  ++forgotten;
  int (*call)(const void*, void*, uint64_t*) = NULL;
  *(void**)&call = dlsym(RTLD_NEXT, "ucp_dt_create_generic");
  return call(operations, context, type);
}

void ucp_dt_destroy(uint64_t type);
void ucp_dt_destroy(uint64_t type) {
  --forgotten;
  void (*call)(uint64_t) = NULL;
  *(void**)&call = dlsym(RTLD_NEXT, "ucp_dt_destroy");
  call(type);
}

static void look_at_status(Footprint* seen) {
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    (void)sscanf(line, "RssAnon: %ld", &seen->of[private_kib]);
    (void)sscanf(line, "RssShmem: %ld", &seen->of[shared_kib]);
    (void)sscanf(line, "Threads: %ld", &seen->of[thread_count]);
  }
  if (status != NULL) {
    fclose(status);
  }
}

static void look_at_descriptors(Footprint* seen) {
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    char path[300], target[300] = "";
    struct stat about;
    snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
    if (readlink(path, target, sizeof target - 1) > 0 && stat(path, &about) == 0) {
      ++seen->of[descriptors];
      seen->of[segment_kib] += strncmp(target, "/memfd:", 7) == 0 ? about.st_blocks / 2 : 0;
    }
  }
  closedir(folder);
}

// MPICH has some 2000, and is asked how many it has left; Open MPI gives them the lowest free number.
static long communicators_in_use(void) {
  if (is_open_mpi()) {
    MPI_Comm comm = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const long number = MPI_Comm_c2f(comm);
    PMPI_Comm_free(&comm);
    return number;
  }
  enum { all = 2048 };
  static MPI_Comm left[all];
  int count = 0;
  while (count < all && PMPI_Comm_dup(MPI_COMM_WORLD, &left[count]) == MPI_SUCCESS) {
    ++count;
  }
  for (int i = 0; i < count; ++i) {
    PMPI_Comm_free(&left[i]);
  }
  return all - count;
}

Footprint look(void) {
  Footprint seen = {{0}};
  seen.of[communicators] = communicators_in_use();
  PMPI_Barrier(MPI_COMM_WORLD);
  usleep(200000); // threads that end have ended
  malloc_trim(0);
  const struct mallinfo2 heap = mallinfo2();
  seen.of[heap_kib] = ((long)(heap.uordblks + heap.hblkhd) - forgotten * bytes_of_forgotten) / 1024;
  look_at_status(&seen);
  look_at_descriptors(&seen);
  __typeof__(&highest_sent_tag) tag = NULL;
  *(void**)&tag = dlsym(RTLD_DEFAULT, "highest_sent_tag");
  seen.of[highest_tag] = tag != NULL ? tag() : 0;
  return seen;
}
