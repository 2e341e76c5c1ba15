// SPDX-License-Identifier: BSD-3-Clause
// Arrays, datatypes and communicators that are gone once a nonblocking call has returned.
#include "tests/pmpi/same_as_mpi.h"

#include <stdlib.h>
#include <string.h>

enum { outstanding = 6, rounds = 12, block_ints = 800 };

// Open MPI 4.1 reads arrays of datatypes once more when the call is complete, and needs the communicator all the time.
static bool needs_arguments(void) { return is_open_mpi() && !strict; }

static void begin_and_forget(Family vector, int call, const int* in, int* out, MPI_Comm comm, MPI_Request* request) {
  Places* const send = malloc(sizeof *send);
  Places* const recv = malloc(sizeof *recv);
  MPI_Datatype type; // one element of it is a block
  MPI_Type_contiguous(block_ints, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int r = 0; r < ranks; ++r) {
    place(send, r, block_ints, r * block_ints);
    place(recv, r, block_ints, r * block_ints);
    if (vector == alltoallw || vector == neighbor_alltoallw) {
      send->counts[r] = recv->counts[r] = 1;
      send->types[r] = recv->types[r] = type;
    }
  }
  const Arguments arguments = arguments_of(vector, in, send, out, recv, comm);
  if (call_collective(vector, form_nonblocking, &arguments, request) != MPI_SUCCESS) {
    FAIL("call %d is refused", call);
  }
  MPI_Type_free(&type);
  if (needs_arguments() && (vector == alltoallw || vector == neighbor_alltoallw)) {
    return;
  }
  memset(send, 0x5a, sizeof *send);
  memset(recv, 0x5a, sizeof *recv);
  free(send);
  free(recv);
}

static void begin_reduce_scatter(const int* in, int* out, MPI_Comm comm, MPI_Request* request) {
  int* const counts = malloc((size_t)ranks * sizeof *counts);
  for (int r = 0; r < ranks; ++r) {
    counts[r] = block_ints;
  }
  MPI_Ireduce_scatter(in, out, counts, MPI_INT, MPI_MAX, comm, request);
  memset(counts, 0x5a, (size_t)ranks * sizeof *counts);
  free(counts);
}

// What block `block` of the receive buffer brings, or -1 where it is not written.
static int expected_value(Family vector, int call, int block) {
  switch (vector) {
  case reduce_scatter:
    return block == 0 ? (ranks - 1) * 1000 + rank * 10 + call : -1;
  case scatterv:
    return block == 0 ? rank * 10 + call : -1;
  case gatherv:
    return rank == 0 ? block * 1000 + call : -1;
  case allgatherv:
  case neighbor_allgatherv:
    return block * 1000 + call;
  default:
    return block * 1000 + rank * 10 + call;
  }
}

static MPI_Comm communicator_for(Family vector) {
  if (vector == neighbor_allgatherv || vector == neighbor_alltoallv || vector == neighbor_alltoallw) {
    return with_neighbors();
  }
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return comm;
}

static void run_forgotten(Family vector, bool frees_comm) {
  MPI_Comm comm = communicator_for(vector);
  const size_t ints = (size_t)ranks * block_ints;
  int* in[outstanding];
  int* out[outstanding];
  for (int c = 0; c < outstanding; ++c) {
    in[c] = malloc(ints * sizeof(int));
    out[c] = malloc(ints * sizeof(int));
  }
  for (int round = 0; round < rounds; ++round) {
    (void)snprintf(context, sizeof context, "%s, round %d%s", family_name(vector), round,
                   frees_comm ? ", communicator freed" : "");
    MPI_Request requests[outstanding];
    for (int c = 0; c < outstanding; ++c) {
      for (int i = 0; i < ranks * block_ints; ++i) {
        in[c][i] = rank * 1000 + i / block_ints * 10 + c;
        out[c][i] = -1;
      }
      if (vector == reduce_scatter) {
        begin_reduce_scatter(in[c], out[c], comm, &requests[c]);
      } else {
        begin_and_forget(vector, c, in[c], out[c], comm, &requests[c]);
      }
    }
    if (frees_comm) {
      MPI_Comm_free(&comm);
      comm = communicator_for(vector);
    }
    MPI_Waitall(outstanding, requests, MPI_STATUSES_IGNORE);
    for (int c = 0; c < outstanding; ++c) {
      for (int i = 0; i < ranks * block_ints; ++i) {
        if (out[c][i] != expected_value(vector, c, i / block_ints)) {
          FAIL("call %d: element %d is %d, expected %d", c, i, out[c][i], expected_value(vector, c, i / block_ints));
          break;
        }
      }
    }
  }
  for (int c = 0; c < outstanding; ++c) {
    free(in[c]);
    free(out[c]);
  }
  MPI_Comm_free(&comm);
}

// Open MPI 4.1 looks at as many datatypes as the communicator's topology gives neighbors, though alltoallw has one for each
// rank. In a longer array, as here, it finds them.
static void run_types_on_a_grid(void) {
  enum { dimensions = 12, neighbors = 2 * dimensions };
  int sizes[dimensions] = {0};
  const int periods[dimensions] = {0};
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Dims_create(ranks, dimensions, sizes);
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes, periods, 0, &grid);
  const size_t entries = ranks > neighbors ? (size_t)ranks : neighbors;
  int* const counts = calloc(entries, sizeof *counts);
  int* const places = calloc(entries, sizeof *places);
  int* const in = calloc(outstanding * entries, sizeof *in);
  int* const out = calloc(outstanding * entries, sizeof *out);
  MPI_Datatype* const types = calloc(entries, sizeof *types);
  MPI_Request requests[outstanding];
  for (size_t i = 0; i < entries; ++i) {
    counts[i] = 1;
    places[i] = (int)(i * sizeof *in);
    types[i] = MPI_INT;
  }
  for (int round = 0; round < 4 * rounds; ++round) {
    for (size_t c = 0; c < outstanding; ++c) {
      for (size_t bytes = 8; bytes <= 512; bytes += 8) { // whoever reads beyond a copy of the array finds this
        free(memset(malloc(bytes), 0x5a, bytes));
      }
      for (size_t i = 0; i < entries; ++i) {
        in[c * entries + i] = rank * 1000 + (int)(i + c);
      }
      MPI_Ialltoallw(in + c * entries, counts, places, types, out + c * entries, counts, places, types, grid,
                     &requests[c]);
    }
    MPI_Waitall(outstanding, requests, MPI_STATUSES_IGNORE);
    for (size_t c = 0; c < outstanding; ++c) {
      for (int r = 0; r < ranks; ++r) {
        if (out[c * entries + (size_t)r] != r * 1000 + rank + (int)c) {
          FAIL("call %zu: the number from rank %d is %d", c, r, out[c * entries + (size_t)r]);
        }
      }
    }
  }
  free(types);
  free(out);
  free(in);
  free(places);
  free(counts);
  MPI_Comm_free(&grid);
}

void run_arrays(void) {
  (void)snprintf(context, sizeof context, "alltoallw on a grid");
  run_types_on_a_grid();
  static const Family families[] = {
      allgatherv,         gatherv,       scatterv, alltoallv, alltoallw, neighbor_allgatherv, neighbor_alltoallv,
      neighbor_alltoallw, reduce_scatter};
  for (size_t i = 0; i < sizeof families / sizeof families[0]; ++i) {
    run_forgotten(families[i], false);
    if (!needs_arguments()) {
      run_forgotten(families[i], true);
    }
  }
}
