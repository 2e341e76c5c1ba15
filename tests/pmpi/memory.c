// SPDX-License-Identifier: BSD-3-Clause
// MPI_Alloc_mem and MPI_Free_mem, for whatever implements them. It names nothing but MPI and the system.
//
//   memory [--arena] SECTION...      with --arena, long blocks have to come from the arena, without it none may
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library asks for it
#include "memory_test.h"
#include "tests/rig/mpi_library.h"

#include <mpi.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void* allocated(MPI_Aint bytes) {
  void* memory = NULL;
  demand(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory) == MPI_SUCCESS && memory != NULL, "there is no memory");
  return memory;
}

static int class_of(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

// ---- arguments of all kinds

static void kinds(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (MPI_Aint bytes = 1; bytes < 16 * megabyte; bytes = (bytes * 3) + 1) {
    char* memory = allocated(bytes);
    demand(lies_in_arena(memory) == (from_arena && bytes >= 16384), "memory comes from the wrong place");
    demand((uintptr_t)memory % 16 == 0, "memory is not aligned");
    memset(memory, 'x', (size_t)bytes);
    demand(MPI_Free_mem(memory) == MPI_SUCCESS, "memory cannot be freed");
  }
  void* memory = &rank;
  demand(MPI_Alloc_mem(0, MPI_INFO_NULL, &memory) == MPI_SUCCESS && MPI_Free_mem(memory) == MPI_SUCCESS, "no bytes");
  memory = &rank;
  demand(class_of(MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory)) == MPI_ERR_ARG && memory == &rank, "a negative size");
  demand(class_of(MPI_Alloc_mem(megabyte, MPI_INFO_NULL, NULL)) == MPI_ERR_ARG, "nowhere to put the address");
  demand(MPI_Free_mem(NULL) == MPI_SUCCESS, "nothing to free");
  if (is_open_mpi()) { // MPICH says that it has them
    demand(class_of(MPI_Alloc_mem((MPI_Aint)1 << 62, MPI_INFO_NULL, &memory)) == MPI_ERR_NO_MEM, "2^62 bytes");
  }
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_minimum_memory_alignment", "64");
  demand(MPI_Alloc_mem(megabyte, info, &memory) == MPI_SUCCESS, "an info");
  demand(!lies_in_arena(memory), "an info is the MPI library's");
  MPI_Free_mem(memory);
  MPI_Info_free(&info);
}

// ---- several threads, of which each frees what another allocated

enum { threads = 4, rounds = 200, slots = 16 };
static char* slot[slots];
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

static void* swap_blocks(void* seed) {
  unsigned int state = (unsigned int)(uintptr_t)seed;
  for (int round = 0; round < rounds; ++round) {
    const MPI_Aint bytes = 1 + (rand_r(&state) % (2 * megabyte));
    char* mine = allocated(bytes);
    mine[0] = mine[bytes - 1] = 'a';
    pthread_mutex_lock(&slots_lock);
    char** place = &slot[rand_r(&state) % slots];
    char* other = *place;
    *place = mine;
    pthread_mutex_unlock(&slots_lock);
    demand(other == NULL || other[0] == 'a', "another thread's block has changed");
    demand(MPI_Free_mem(other) == MPI_SUCCESS, "another thread's block cannot be freed");
  }
  return NULL;
}

static void several_threads(void) {
  pthread_t thread[threads];
  for (uintptr_t t = 0; t < threads; ++t) {
    demand(pthread_create(&thread[t], NULL, swap_blocks, (void*)(t + 1)) == 0, "there is no thread"); // NOLINT
  }
  for (int t = 0; t < threads; ++t) {
    pthread_join(thread[t], NULL);
  }
  for (int i = 0; i < slots; ++i) {
    MPI_Free_mem(slot[i]);
  }
}

// ---- exchanges between blocks of either kind

static void exchange(const int* in, int* out, int* sums, int count, int epoch) {
  MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(in, sums, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; r < ranks; ++r) {
    demand(out[r * count] == r + epoch && out[(r * count) + count - 1] == r + epoch, "a block is wrong");
  }
  demand(sums[0] == (ranks * epoch) + (ranks * (ranks - 1) / 2) && sums[count - 1] == sums[0], "a sum is wrong");
}

static void collectives(void) {
  enum { count = 40000 };
  const size_t bytes = sizeof(int) * count * (size_t)ranks;
  for (int epoch = 0; epoch < 40; ++epoch) {
    const bool ordinary = (epoch / 2) % ranks == rank; // on one rank, and in half of the epochs
    int* in = ordinary ? malloc(bytes) : allocated((MPI_Aint)bytes);
    int* out = allocated((MPI_Aint)bytes);
    int* sums = epoch % 2 == 0 ? out : allocated((MPI_Aint)bytes);
    for (int i = 0; i < count * ranks; ++i) {
      in[i] = rank + epoch;
    }
    if (sums == out) {
      int* apart = allocated((MPI_Aint)bytes);
      exchange(in, out, apart, count, epoch);
      MPI_Free_mem(apart);
    } else {
      exchange(in, out, sums, count, epoch);
      MPI_Free_mem(sums);
    }
    MPI_Free_mem(out);
    if (ordinary) {
      free(in);
    } else {
      MPI_Free_mem(in);
    }
  }
}

// ---- more than an arena has

static void no_room(void) {
  enum { blocks = 40 };
  char* block[blocks];
  int in_arena = 0;
  for (int i = 0; i < blocks; ++i) {
    block[i] = allocated(megabyte);
    memset(block[i], 'a' + i % 26, megabyte);
    in_arena += lies_in_arena(block[i]);
  }
  demand(in_arena < blocks && (in_arena > 0) == from_arena, "a small arena has held all blocks, or none");
  collectives();
  for (int i = 0; i < blocks; ++i) {
    demand(block[i][0] == 'a' + i % 26 && block[i][megabyte - 1] == block[i][0], "a block has changed");
    MPI_Free_mem(block[i]);
  }
}

// ---- children have copies

static void children(void) {
  enum { bytes = 3 * megabyte + 100 };
  for (int round = 0; round < 10; ++round) {
    char* memory = allocated(bytes);
    char* freed = allocated(megabyte);
    memset(memory, 'p', bytes);
    memset(freed, 'f', megabyte);
    int go[2];
    demand(pipe(go) == 0, "there is no pipe");
    const pid_t child = fork();
    if (child == 0) {
      char byte = 0;
      bool right = read(go[0], &byte, 1) == 1; // the parent has written
      for (int i = 0; i < bytes; ++i) {
        right = right && memory[i] == 'p';
      }
      memset(memory, 'c', bytes);
      MPI_Free_mem(freed);
      const pid_t grandchild = fork();
      if (grandchild == 0) {
        _exit(memory[bytes - 1] == 'c' ? child_status : 1);
      }
      int status = 0;
      waitpid(grandchild, &status, 0);
      _exit(right && WIFEXITED(status) && WEXITSTATUS(status) == child_status ? child_status : 1);
    }
    memset(memory, 'n', bytes);
    demand(write(go[1], "", 1) == 1 && status_of(child) == child_status, "a child does not have its parent's memory");
    demand(memory[0] == 'n' && memory[bytes - 1] == 'n' && freed[0] == 'f' && freed[megabyte - 1] == 'f',
           "a child has changed its parent's memory");
    close(go[0]);
    close(go[1]);
    const pid_t other = fork();
    if (other == 0) {
      execl("/bin/sh", "sh", "-c", "exit 5", (char*)NULL);
      _exit(1);
    }
    demand(status_of(other) == child_status, "a child does not become another program");
    MPI_Free_mem(memory);
    MPI_Free_mem(freed);
  }
}

// ---- after MPI_Finalize

static char* kept;

static void look_at_kept(void) {
  if (kept != NULL && kept[megabyte - 1] != 'k') {
    fprintf(stderr, "FAILED rank %d: a block has not outlived MPI\n", rank);
    _exit(1);
  }
}

static void keep(void) {
  kept = allocated(megabyte);
  memset(kept, 'k', megabyte);
  atexit(look_at_kept);
}

// Freeing is an error then, at which MPICH 4.0 ends the process, and MPICH 4.2 the job. Open MPI looks into freed memory.
static void free_late(void) {
  if (!is_mpich_before(401)) {
    return;
  }
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    char* const late = kept;
    kept = NULL; // MPICH lets the end come by exit()
    MPI_Free_mem(late);
    _exit(2);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 1) {
    fprintf(stderr, "FAILED rank %d: MPI_Free_mem after MPI_Finalize ends with status %d\n", rank, status);
    _exit(1);
  }
}

int main(int argc, char** argv) {
  static const Section sections[] = {{"kinds", kinds},     {"threads", several_threads}, {"collectives", collectives},
                                     {"no-room", no_room}, {"children", children},       {"end", keep}};
  run_sections(argc, argv, sections, sizeof sections / sizeof *sections);
  MPI_Finalize();
  if (kept != NULL) {
    look_at_kept();
    free_late();
  }
  return 0;
}
