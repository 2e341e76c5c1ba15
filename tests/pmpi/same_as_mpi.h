// SPDX-License-Identifier: BSD-3-Clause
// What the files of same_as_mpi share: pairs of communicators, and calls that are compared between the two.
#pragma once

#include "tests/pmpi/collectives.h"
#include "tests/rig/mpi_library.h"

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

extern bool strict;
extern int rank, ranks, failures;
extern char context[256];

#define FAIL(...)                                                                                                      \
  do {                                                                                                                 \
    fprintf(stderr, "FAILED rank %d: %s: ", rank, context);                                                            \
    fprintf(stderr, __VA_ARGS__);                                                                                      \
    fputc('\n', stderr);                                                                                               \
    if (++failures == 40) {                                                                                            \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                                    \
    }                                                                                                                  \
  } while (0)

// One communicator whose calls may be taken, and one whose calls are not.
typedef struct Pair {
  MPI_Comm taken, left;
} Pair;

Pair pair_of(MPI_Comm comm);
void free_pair(Pair* pair);
// Everybody is everybody's neighbor. The caller frees it.
MPI_Comm with_neighbors(void);
int class_of(int code);

// The form in which the MPI library is asked for the result of a call: Open MPI 4 has no large counts, and persistent
// collectives of both libraries have defects (see known_defect() in conformance_calls.c).
Form reference_form(Form form);
// The call from its beginning to its end; what its last part returned.
int carry_out(Family family, Form form, const Arguments* arguments);
// The end of a call that returned `code`.
int complete(Form form, int code, MPI_Request* request);

// The same call on both communicators, as `arguments` has it but for the communicator and the buffer of the result,
// which may be null: they agree in error class and in result.
void compare_calls(Family family, Form form, Arguments arguments, Pair comms, int* results[2], size_t ints);

enum { most_ranks = 16 };

// The arrays of one side; displacements in elements, in bytes for the functions with types for each block.
typedef struct Places {
  int counts[most_ranks], displs[most_ranks], bytes[most_ranks];
  MPI_Count wide_counts[most_ranks];
  MPI_Aint wide_displs[most_ranks], wide_bytes[most_ranks];
  MPI_Datatype types[most_ranks];
} Places;

void place(Places* places, int block, int count, int displ);
// Integers, in blocks.
Arguments arguments_of(Family family, const int* in, const Places* send, int* out, const Places* recv, MPI_Comm comm);

// The sections.
void run_reductions(void);
void run_displacements(void);
void run_arrays(void);
void run_less_than_expected(void);
void run_arguments(void);
void run_insignificant(void);
void run_repeated_neighbors(void);
