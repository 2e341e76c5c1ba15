/* SPDX-License-Identifier: BSD-3-Clause */
/* Says how many threads the process has, and which level MPI has granted. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int level = 0;
  int threads = 0;
  MPI_Init(&argc, &argv);
  MPI_Query_thread(&level);
  DIR* const tasks = opendir("/proc/self/task");
  for (const struct dirent* task = readdir(tasks); task != NULL; task = readdir(tasks)) {
    threads += task->d_name[0] != '.';
  }
  closedir(tasks);
  printf("%d threads, level %d\n", threads, level);
  MPI_Finalize();
  return 0;
}
