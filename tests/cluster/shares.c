// SPDX-License-Identifier: BSD-3-Clause
// What the cores of emulated hosts in slow motion are worth: the job that their test runs. Each rank has a second
// thread, and both are busy for SECONDS. Rank 0 prints how many threads of a rank are in a wrong control group: the
// main thread has to be in one that ends in .core0, all others in .core1. Then it prints the shares of real time that
// threads got, smallest and largest of all ranks: the main thread alone, and both at once.
#include <mpi.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds; // how long threads are busy

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double share_when_busy(void) {
  const double start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
  double elapsed;
  do {
    elapsed = now(CLOCK_MONOTONIC) - start;
  } while (elapsed < seconds);
  return (now(CLOCK_THREAD_CPUTIME_ID) - cpu) / elapsed;
}

static int in_group(const char* thread, const char* suffix) {
  char path[300], line[500];
  int found = 0;
  snprintf(path, sizeof path, "/proc/self/task/%s/cgroup", thread);
  FILE* file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    const size_t length = strlen(line), end = strlen(suffix);
    found |= length > end && strcmp(line + length - end, suffix) == 0;
  }
  if (file != NULL) {
    fclose(file);
  }
  return found;
}

static int wrong_threads(int* threads) {
  int wrong = 0;
  *threads = 0;
  DIR* tasks = opendir("/proc/self/task");
  for (const struct dirent* task = readdir(tasks); task != NULL; task = readdir(tasks)) {
    if (task->d_name[0] != '.') {
      wrong += !in_group(task->d_name, atoi(task->d_name) == getpid() ? ".core0" : ".core1");
      ++*threads;
    }
  }
  closedir(tasks);
  return wrong;
}

// Threads are moved soon after they have begun.
static void check_groups(int rank) {
  int wrong = 1, threads = 0;
  const double start = now(CLOCK_MONOTONIC);
  while ((wrong = wrong_threads(&threads)) != 0 && now(CLOCK_MONOTONIC) - start < 10) {
    usleep(10000);
  }
  int most, fewest;
  MPI_Reduce(&wrong, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&threads, &fewest, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d of %d threads in a wrong group\n", most, fewest);
  }
}

static void report(const char* what, double share, int rank) {
  double least, most;
  MPI_Reduce(&share, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&share, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%s %.3f to %.3f\n", what, least, most);
  }
}

static pthread_barrier_t both;

static void* second_thread(void* share) {
  pthread_barrier_wait(&both); // there
  pthread_barrier_wait(&both); // now
  *(double*)share = share_when_busy();
  return NULL;
}

int main(int argc, char** argv) {
  int rank, granted;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  seconds = argc > 1 ? atof(argv[1]) : 1;
  double second = 0;
  pthread_t thread;
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&thread, NULL, second_thread, &second);
  pthread_barrier_wait(&both);
  check_groups(rank);

  MPI_Barrier(MPI_COMM_WORLD);
  report("computing alone:", share_when_busy(), rank);
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_barrier_wait(&both);
  const double beside = share_when_busy();
  pthread_join(thread, NULL);
  report("computing beside a busy second core:", beside, rank);
  report("second core:", second, rank);
  MPI_Finalize();
  return 0;
}
