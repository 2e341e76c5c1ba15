// SPDX-License-Identifier: BSD-3-Clause
// The heap, whoever implements it: a program that names nothing but MPI, the C library and the system.
//
//   heap [--arena] SECTION...      --arena: once there is MPI long blocks have to come from the arena; else none may
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library asks for it
#include "memory_test.h"

#include <mpi.h>

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { least = 65536 };

static bool holds(const char* memory, size_t bytes, char what) {
  for (size_t i = 0; i < bytes; ++i) {
    if (memory[i] != what) {
      return false;
    }
  }
  return true;
}

// A block of so many bytes that a function has given, which can be used, and freed.
static void try_block(void* memory, size_t bytes, size_t alignment, const char* function) {
  demand(memory != NULL && (uintptr_t)memory % alignment == 0, function);
  demand(lies_in_arena(memory) == (from_arena && bytes >= least), function);
  demand(malloc_usable_size(memory) >= bytes, "malloc_usable_size");
  memset(memory, 'x', bytes);
  demand(holds(memory, bytes, 'x'), function);
  free(memory);
}

// ---- every function

static void cleared(void) {
  char* used = malloc(megabyte);
  memset(used, 'u', megabyte);
  free(used);
  char* memory = calloc(megabyte / 8, 8);
  demand(memory != NULL && holds(memory, megabyte, 0), "calloc does not clear");
  free(memory);
}

static void functions(void) {
  static const size_t sizes[] = {1, 1000, least - 1, least, least + 1, 3 * megabyte};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const size_t bytes = sizes[i];
    void* memory = NULL;
    try_block(malloc(bytes), bytes, 16, "malloc");
    try_block(calloc(bytes, 1), bytes, 16, "calloc");
    try_block(realloc(NULL, bytes), bytes, 16, "realloc");
    try_block(reallocarray(NULL, 1, bytes), bytes, 16, "reallocarray");
    try_block(aligned_alloc(64, bytes), bytes, 64, "aligned_alloc");
    try_block(memalign(4096, bytes), bytes, 4096, "memalign");
    try_block(valloc(bytes), bytes, 4096, "valloc");
    demand(posix_memalign(&memory, 256, bytes) == 0, "posix_memalign");
    try_block(memory, bytes, 256, "posix_memalign");
  }
  cleared();
  void* memory = NULL;
  demand(posix_memalign(&memory, 3, megabyte) == EINVAL, "posix_memalign with an alignment of 3");
  demand(posix_memalign(&memory, (size_t)1 << 21, megabyte) == 0 && (uintptr_t)memory % ((size_t)1 << 21) == 0,
         "posix_memalign with an alignment of many pages");
  free(memory);
  volatile size_t absurd = SIZE_MAX / 2;
  errno = 0;
  demand(malloc(absurd) == NULL && errno == ENOMEM, "malloc of half of all addresses");
  demand(calloc(absurd, 3) == NULL, "calloc of more than there are addresses");
  demand(reallocarray(NULL, absurd, 3) == NULL, "reallocarray of more than there are addresses");
  memory = malloc(megabyte);
  errno = 7;
  free(memory);
  demand(errno == 7, "free has changed errno");
  free(NULL);
}

// ---- blocks that grow and shrink

static void lengths(void) {
  static const size_t sizes[] = {100, least - 100, least, 200000, 2 * megabyte, megabyte, least, 3000, 5 * megabyte, 1};
  char* memory = NULL;
  size_t bytes = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    memory = realloc(memory, sizes[i]);
    demand(memory != NULL && holds(memory, bytes < sizes[i] ? bytes : sizes[i], 'r'), "realloc has lost data");
    demand(lies_in_arena(memory) == (from_arena && sizes[i] >= least), "realloc has left a block on the wrong side");
    bytes = sizes[i];
    memset(memory, 'r', bytes);
  }
  memory = realloc(memory, megabyte);
  volatile size_t absurd = SIZE_MAX / 2;
  demand(realloc(memory, absurd) == NULL && memory[0] == 'r', "realloc has not left a block alone");
  free(memory);
}

// ---- blocks from before

static char* before_mpi[2];

static void allocate_before(void) {
  before_mpi[0] = malloc(megabyte);
  before_mpi[1] = malloc(megabyte);
  memset(before_mpi[0], 'b', megabyte);
  memset(before_mpi[1], 'b', megabyte);
}

static void before(void) {
  demand(!lies_in_arena(before_mpi[0]), "there is an arena before MPI");
  before_mpi[1] = realloc(before_mpi[1], 2 * megabyte);
  demand(holds(before_mpi[0], megabyte, 'b') && holds(before_mpi[1], megabyte, 'b'), "a block of before has changed");
  free(before_mpi[0]);
  free(before_mpi[1]);
}

// ---- several threads, of which each frees what another allocated

enum { threads = 4, rounds = 300, slots = 16 };
static char* slot[slots];
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

static void* swap_blocks(void* seed) {
  unsigned int state = (unsigned int)(uintptr_t)seed;
  for (int round = 0; round < rounds; ++round) {
    const size_t bytes = 1 + (size_t)(rand_r(&state) % (2 * megabyte));
    char* mine = round % 3 == 0 ? calloc(1, bytes) : malloc(bytes);
    mine[0] = mine[bytes - 1] = 'a';
    pthread_mutex_lock(&slots_lock);
    char** place = &slot[rand_r(&state) % slots];
    char* other = *place;
    *place = mine;
    pthread_mutex_unlock(&slots_lock);
    demand(other == NULL || other[0] == 'a', "another thread's block has changed");
    other = realloc(other, 1 + (size_t)(rand_r(&state) % 200000));
    free(other);
  }
  return NULL;
}

static void several_threads(void) {
  pthread_t thread[threads];
  for (uintptr_t t = 0; t < threads; ++t) {
    demand(pthread_create(&thread[t], NULL, swap_blocks, (void*)(t + 1)) == 0, "there is no thread"); // NOLINT
  }
  // Children of a process whose other threads allocate.
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      char* memory = malloc(megabyte);
      memset(memory, 'm', megabyte);
      const bool right = holds(memory, megabyte, 'm');
      free(memory);
      _exit(right ? child_status : 1);
    }
    demand(status_of(child) == child_status, "a child cannot allocate");
  }
  for (int t = 0; t < threads; ++t) {
    pthread_join(thread[t], NULL);
  }
  for (int i = 0; i < slots; ++i) {
    free(slot[i]);
  }
}

// ---- children have copies, and go on with them

static void children(void) {
  for (int round = 0; round < 5; ++round) {
    char* memory = malloc(3 * megabyte);
    char* grows = malloc(megabyte);
    memset(memory, 'p', 3 * megabyte);
    memset(grows, 'g', megabyte);
    const pid_t child = fork();
    if (child == 0) {
      bool right = holds(memory, 3 * megabyte, 'p');
      memset(memory, 'c', 3 * megabyte);
      grows = realloc(grows, 2 * megabyte);
      right = right && grows != NULL && holds(grows, megabyte, 'g');
      memset(grows, 'c', 2 * megabyte);
      free(grows);
      char* other = malloc(megabyte);
      memset(other, 'o', megabyte);
      right = right && holds(memory, 3 * megabyte, 'c') && !lies_in_arena(memory) && !lies_in_arena(other);
      exit(right ? child_status : 1); // by all handlers
    }
    memset(memory, 'n', 3 * megabyte);
    demand(status_of(child) == child_status, "a child does not have its parent's heap");
    demand(holds(memory, 3 * megabyte, 'n') && holds(grows, megabyte, 'g'), "a child has changed its parent's heap");
    demand(system("exit 5") == child_status << 8, "a child does not become another program");
    free(memory);
    free(grows);
  }
}

// Pages that a network's library has advised not to be there in children.
static void children_without_pages(void) {
  char* memory = malloc(megabyte);
  memset(memory, 'd', megabyte);
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  char* const first = memory + (page - (uintptr_t)memory % page) % page;
  demand(madvise(first, page, MADV_DONTFORK) == 0, "madvise");
  const pid_t child = fork();
  if (child == 0) {
    _exit(child_status);
  }
  demand(status_of(child) == child_status, "a child ends in fork");
  madvise(first, page, MADV_DOFORK);
  free(memory);
}

// ---- allocating is no cancellation point

static void* allocate_cancelled(void* done) {
  pthread_cancel(pthread_self());
  char* memory = malloc(3 * megabyte);
  memory = realloc(memory, 5 * megabyte);
  memset(memory, 'c', 5 * megabyte);
  free(memory);
  *(bool*)done = true;
  pthread_testcancel();
  return NULL;
}

static void cancelled(void) {
  bool done = false;
  pthread_t thread;
  demand(pthread_create(&thread, NULL, allocate_cancelled, &done) == 0, "there is no thread");
  void* result = NULL;
  pthread_join(thread, &result);
  demand(done && result == PTHREAD_CANCELED, "a thread is cancelled in malloc, realloc or free");
}

// ---- blocks of the MPI library's own

// What it keeps for each is gone when they are.
static void freed_by_mpi(void) {
  enum { warm = 100, rounds_of_blocks = 3000 };
  size_t before = 0;
  for (int i = 0; i < warm + rounds_of_blocks; ++i) {
    before = i == warm ? mallinfo2().uordblks : before;
    void* block = NULL;
    MPI_Alloc_mem(megabyte, MPI_INFO_NULL, &block);
    *(char*)block = 'm';
    MPI_Free_mem(block);
  }
  const size_t after = mallinfo2().uordblks;
  demand(after < before + (size_t)8 * rounds_of_blocks, "memory grows with the blocks that MPI_Alloc_mem has given");
}

// ---- exchanges

static void collectives(void) {
  enum { count = 50000 };
  for (int epoch = 0; epoch < 40; ++epoch) {
    int* in = malloc(sizeof(int) * count * (size_t)ranks);
    int* out = calloc((size_t)count * (size_t)ranks, sizeof(int));
    int* sums = malloc(sizeof(int) * count);
    for (int i = 0; i < count * ranks; ++i) {
      in[i] = rank + epoch;
    }
    MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
    MPI_Allreduce(in, sums, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r) {
      demand(out[r * count] == r + epoch && out[(r * count) + count - 1] == r + epoch, "a block is wrong");
    }
    demand(sums[count - 1] == (ranks * epoch) + (ranks * (ranks - 1) / 2), "a sum is wrong");
    free(in);
    free(out);
    free(sums);
  }
}

// ---- more than an arena has

static void no_room(void) {
  enum { blocks = 40 };
  char* block[blocks];
  int in_arena = 0;
  for (int i = 0; i < blocks; ++i) {
    block[i] = malloc(megabyte);
    memset(block[i], 'a' + i % 26, megabyte);
    in_arena += lies_in_arena(block[i]);
  }
  demand(in_arena < blocks && (in_arena > 0) == from_arena, "a small arena has held all blocks, or none");
  collectives();
  for (int i = 0; i < blocks; ++i) {
    block[i] = realloc(block[i], 2 * megabyte);
    demand(holds(block[i], megabyte, (char)('a' + i % 26)), "a block has changed");
    free(block[i]);
  }
}

// ---- after MPI_Finalize

static char* kept;

static void free_kept(void) {
  if (kept != NULL && !holds(kept, megabyte, 'k')) {
    fprintf(stderr, "FAILED rank %d: a block has not outlived MPI\n", rank);
    _exit(1);
  }
  free(kept);
}

static void keep(void) {
  kept = malloc(megabyte);
  memset(kept, 'k', megabyte);
  atexit(free_kept);
}

int main(int argc, char** argv) {
  static const Section sections[] = {{"functions", functions},
                                     {"lengths", lengths},
                                     {"before", before},
                                     {"threads", several_threads},
                                     {"children", children},
                                     {"collectives", collectives},
                                     {"no-room", no_room},
                                     {"end", keep},
                                     {"children-without-pages", children_without_pages},
                                     {"cancelled", cancelled},
                                     {"freed-by-mpi", freed_by_mpi}};
  allocate_before();
  run_sections(argc, argv, sections, sizeof sections / sizeof *sections);
  MPI_Finalize();
  demand(!from_arena || arenas() == 1, "other ranks' memory is kept for good");
  if (kept != NULL) {
    demand(realloc(malloc(megabyte), 10) != NULL, "there is no heap after MPI");
  }
  return 0;
}
