// SPDX-License-Identifier: BSD-3-Clause
// A graph with several edges from one rank to another. MPI libraries differ in which of the blocks goes where.
#include "tests/pmpi/same_as_mpi.h"

#include <stdlib.h>

enum { edges = 2, count = 3000 };

void run_repeated_neighbors(void) {
  const int blocks = edges * ranks;
  int all[most_ranks] = {0};
  Places send;
  Places recv;
  for (int b = 0; b < blocks; ++b) {
    all[b] = b / edges;
    place(&send, b, count, b * count);
    place(&recv, b, count, b * count);
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, blocks, all, MPI_UNWEIGHTED, blocks, all, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  const size_t ints = (size_t)blocks * count;
  int* in = malloc(ints * sizeof(int));
  int* results[2] = {malloc(ints * sizeof(int)), malloc(ints * sizeof(int))};
  for (size_t i = 0; i < ints; ++i) {
    in[i] = (int)i + rank * 1000000;
  }
  Pair comms = pair_of(graph);
  const Family families[] = {neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv,
                             neighbor_alltoallw};
  for (size_t f = 0; f < sizeof families / sizeof families[0]; ++f) {
    for (Form form = form_blocking; form <= form_mpix; ++form) {
      if (is_available(form)) {
        compare_calls(families[f], form, arguments_of(families[f], in, &send, NULL, &recv, MPI_COMM_NULL), comms,
                      results, ints);
      }
    }
  }
  free_pair(&comms);
  MPI_Comm_free(&graph);
  free(in);
  free(results[0]);
  free(results[1]);
}
