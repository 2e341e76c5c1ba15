// SPDX-License-Identifier: BSD-3-Clause
// A program written from chapters 3 and 6 of MPI-4.1, for whatever implements them: it names nothing but MPI. Its files
// share this: failures, and collective calls of every family and form together with what each rank must find in its
// buffers.
#pragma once

#include "tests/pmpi/collectives.h"
#include "tests/rig/mpi_library.h"

#include <mpi.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

// ---- sections, selected by name on the command line

typedef struct Section {
  const char* name;
  void (*run)(void);
} Section;
extern const Section family_sections[], request_sections[], environment_sections[]; // each ends with a null name

// Demands also what the standard leaves to the quality of an implementation, and leaves out no persistent collective,
// whatever the MPI libraries are known to do wrong.
extern bool strict;

extern atomic_int failures;
// Names what this thread tries, for the lines that fail() prints. printf-like.
__attribute__((format(printf, 1, 2))) void set_context(const char* format, ...);
__attribute__((format(printf, 1, 2))) void fail(const char* format, ...);
void expect(bool condition, const char* what);
void expect_success(int code, const char* what);
// Said once by rank 0; the section goes on.
void leave_out(const char* what, const char* reason);
int world_rank(void);
int world_size(void);

// ---- collective calls

// A kind of elements, and how a reduction combines two.
typedef enum Kind {
  kind_int,    // MPI_INT; MPI_SUM
  kind_gap,    // a vector of two ints with a gap between; a commutative operator of the user's
  kind_affine, // two ints, the map x -> a x + b; their composition, which is not commutative
  kind_minloc, // MPI_2INT; MPI_MINLOC
  kind_count
} Kind;

typedef struct Shape {
  Family family;
  Form form;
  Kind kind;
  int count; // elements of a block; of the v-forms about so many, differently for each pair, and sometimes none
  bool in_place;
  int root;
  MPI_Comm comm;
} Shape;

enum { most_blocks = 16, small_count = 3, large_count = 20000, everyone = 4096 };

typedef struct Block {
  int source, target; // ranks that name the data; target everyone: the same for all
  long first;         // of its elements in the source's sequence
  int fold;           // not 0: what so many ranks' elements combine to
  int count;
  Kind kind;
  size_t at; // ints from the buffer's beginning
} Block;

typedef struct Side {
  int blocks;
  Block block[most_blocks];
  size_t ints;
  int* data;
  int* expected;
  int counts[most_blocks], displs[most_blocks], bytes[most_blocks];
  MPI_Count wide_counts[most_blocks];
  MPI_Aint wide_displs[most_blocks], wide_bytes[most_blocks];
  MPI_Datatype types[most_blocks];
} Side;

typedef struct Call {
  Shape shape;
  int rank, ranks;
  bool send_in_place, recv_in_place; // here
  Side send, recv;
  MPI_Request request;
  int epoch;
  MPI_Datatype type, recv_type;
  MPI_Op op;
  bool holds_handles; // of datatypes and the operator
} Call;

const char* kind_name(Kind kind);

// ---- what the MPI libraries are known to do wrong

// Whether such a call may be the MPI library's own, with its defects.
bool library_serves(Form form);
// Not null: why this call is not made.
const char* known_defect(const Shape* shape);
// Whether inactive persistent collectives can be completed, and be started in an order of each rank's own.
bool persistent_states_work(void);

// Buffers and arguments. Neighborhood calls take a communicator with a topology without multiple edges.
Call* new_call(Shape shape);
void free_call(Call* call);
// New input, poison in the output.
void fill(Call* call, int epoch);
// Datatypes and operators are freed with the call, and not as soon as MPI has returned.
extern bool keeps_handles;
// Calls MPI; returns its code. Fills request, but for blocking calls.
int issue(Call* call);
// That the output is right, gaps and surroundings are as they were, and the input is untouched.
void check(const Call* call);

// Characters on MPI_COMM_WORLD, with large counts: displacements may be beyond int.
int gatherv_far(bool persistent, const void* sendbuf, int sendcount, void* recvbuf, const MPI_Count* recvcounts,
                const MPI_Aint* displs, int root, MPI_Request* request);

// fill, issue, MPI_Wait, check
void run_once(Shape shape, int epoch);
