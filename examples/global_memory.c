/* SPDX-License-Identifier: BSD-3-Clause */
/* Global memory from C. Units take tasks from one counter and put the results where they belong, whoever computed them.
 * No unit has to take part in what the others do with its memory.
 *   mpicc global_memory.c $(pkg-config --cflags --libs stoker) -o global_memory */
#include <stoker/stoker_global.h>

#include <stdio.h>
#include <stdlib.h>

enum { tasks_per_unit = 200 };

static void check(int code) {
  if (code != STOKER_SUCCESS) {
    fprintf(stderr, "%s\n", stoker_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static double result_of(int64_t task) { return 0.5 * (double)(task * task); }

int main(int argc, char** argv) {
  int level, rank, ranks, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  stoker_engine engine;
  stoker_global global;
  stoker_team team;
  stoker_gptr counter, results, flag, halo; /* the same on all units */
  check(stoker_engine_create(MPI_COMM_WORLD, NULL, 0, &engine));
  check(stoker_global_create(engine, 0, &global));
  check(stoker_team_create(global, MPI_COMM_WORLD, &team));
  check(stoker_team_allocate(team, sizeof(int64_t), &counter)); /* that of unit 0 is used; zero at first */
  check(stoker_team_allocate(team, tasks_per_unit * sizeof(double), &results));

  static double computed[64]; /* they belong to stoker until the next flush */
  int computed_count = 0;
  for (;;) {
    const int64_t one = 1;
    int64_t task;
    check(stoker_fetch_and_op(global, counter, MPI_INT64_T, MPI_SUM, &one, &task));
    if (task >= (int64_t)tasks_per_unit * ranks) {
      break;
    }
    stoker_gptr place = results;
    place.unit = (int32_t)(task / tasks_per_unit);
    place.offset += (uint64_t)(task % tasks_per_unit) * sizeof(double);
    computed[computed_count] = result_of(task);
    check(stoker_put_nb(global, place, &computed[computed_count], sizeof(double), NULL));
    if (++computed_count == 64) {
      check(stoker_flush_all(global));
      computed_count = 0;
    }
  }
  check(stoker_flush_all(global)); /* what this unit has put is there; after the barrier, what all have put */
  MPI_Barrier(MPI_COMM_WORLD);

  void* address; /* the own part, and that of every unit of the node, is ordinary memory */
  results.unit = rank;
  check(stoker_global_address(global, results, tasks_per_unit * sizeof(double), &address));
  const double* mine = address;
  for (int i = 0; i < tasks_per_unit; ++i) {
    wrong += mine[i] != result_of((int64_t)rank * tasks_per_unit + i);
  }

  /* A row for the neighbor on the right. Who sees the signal sees the row. */
  enum { row_length = 1000, step = 1 };
  static double row[row_length];
  for (int i = 0; i < row_length; ++i) {
    row[i] = rank + 0.001 * i;
  }
  check(stoker_team_allocate(team, sizeof(uint64_t), &flag));
  check(stoker_team_allocate(team, sizeof row, &halo));
  flag.unit = halo.unit = (rank + 1) % ranks;
  check(stoker_put_signal_nb(global, halo, row, sizeof row, flag, step, NULL));
  flag.unit = halo.unit = rank; /* here something could be computed that does not need the halo */
  check(stoker_wait_until(global, flag, STOKER_GE, step));
  check(stoker_global_address(global, halo, sizeof row, &address));
  const double* from_left = address;
  const int left = (rank + ranks - 1) % ranks;
  for (int i = 0; i < row_length; ++i) {
    wrong += from_left[i] != left + 0.001 * i;
  }
  check(stoker_flush_all(global)); /* `row` is ours again */

  check(stoker_team_free(&team)); /* with its allocations */
  check(stoker_global_free(&global));
  check(stoker_engine_destroy(&engine));
  printf("unit %d of %d: %s\n", rank, ranks, wrong == 0 ? "correct" : "WRONG");
  MPI_Finalize();
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
