// SPDX-License-Identifier: BSD-3-Clause
// Calls that the standard does not promise, made twice: on a communicator whose calls the drop-in library may take, and
// on one whose info leaves them to the MPI library (stoker_off). Both must agree in result or in error class. Without
// the drop-in library both are the MPI library's: a test of the test.
//
//   same_as_mpi [--strict] SECTION...       exits 0; 1 after lines with rank and case
//
// --strict: also what an MPI library alone fails in.
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4
#define PERSISTENT(name) MPI_##name##_init
#else
#define PERSISTENT(name) MPIX_##name##_init // Open MPI 4.1's
#endif

typedef enum Form { blocking, nonblocking, persistent, form_count } Form;
static const char* const form_names[] = {"blocking", "nonblocking", "persistent"};

static bool strict;
static int rank, ranks, failures;
static char context[256];

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

static Pair pair_of(MPI_Comm comm) {
  Pair pair;
  MPI_Comm_dup(comm, &pair.taken);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "stoker_off", "1");
  MPI_Comm_dup_with_info(comm, info, &pair.left);
  MPI_Info_free(&info);
  MPI_Comm_set_errhandler(pair.taken, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(pair.left, MPI_ERRORS_RETURN);
  return pair;
}

static void free_pair(Pair* pair) {
  MPI_Comm_free(&pair->taken);
  MPI_Comm_free(&pair->left);
}

static int class_of(int code) {
  int its_class = MPI_SUCCESS;
  MPI_Error_class(code, &its_class);
  return its_class;
}

// The end of a nonblocking or persistent call that returned `code`.
static int complete(Form form, int code, MPI_Request* request) {
  if (code != MPI_SUCCESS || form == blocking) {
    return code;
  }
  if (form == persistent) {
    code = MPI_Start(request);
  }
  if (code == MPI_SUCCESS) {
    code = MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  if (form == persistent) {
    MPI_Request_free(request);
  }
  return code;
}

// One call in any form; `request` is in scope.
#define CALL(form, Name, Iname, ...)                                                                                   \
  ((form) == blocking      ? MPI_##Name(__VA_ARGS__)                                                                   \
   : (form) == nonblocking ? MPI_##Iname(__VA_ARGS__, &request)                                                        \
                           : PERSISTENT(Name)(__VA_ARGS__, MPI_INFO_NULL, &request))

// ---- every operator of MPI's on every datatype

typedef enum Bits { integer, real, complex, pair_of_reals, with_int } Bits;
typedef struct Type {
  const char* name;
  MPI_Datatype handle;
  Bits bits;
} Type;

static void put_real(char* at, size_t bytes, double value) {
  const float as_float = (float)value;
  const long double as_long = value;
  if (bytes == sizeof value) {
    memcpy(at, &value, bytes);
  } else if (bytes == sizeof as_float) {
    memcpy(at, &as_float, bytes);
  } else if (bytes == sizeof as_long) {
    memset(at, 0, bytes);
    memcpy(at, &as_long, 10);
  }
}

// Small numbers, with which every operator is exact; logicals are 0 and 1.
static void put_element(const Type* type, char* at, size_t size, size_t extent, int number) {
  memset(at, 0, extent);
  const bool halves = type->bits == complex || type->bits == pair_of_reals;
  if (halves) {
    put_real(at, size / 2, number);
    put_real(at + size / 2, size / 2, number + 1);
  } else if (type->bits == real) {
    put_real(at, size, number);
  } else if (type->bits == with_int) { // a C struct: a number, and an int at its end
    const size_t first = size - sizeof(int);
    if (type->handle == MPI_SHORT_INT || type->handle == MPI_LONG_INT || type->handle == MPI_2INT) {
      at[0] = (char)number;
    } else {
      put_real(at, first, number);
    }
    at[type->handle == MPI_SHORT_INT ? sizeof(int) : first] = (char)(number + rank);
  } else {
    at[0] = (char)number; // little endian
  }
}

// x87 numbers have bytes that mean nothing.
static void clear_unused(const Type* type, char* data, size_t size, size_t extent, int count) {
  for (int i = 0; i < count; ++i) {
    char* const at = data + (size_t)i * extent;
    const bool is_long = type->handle == MPI_LONG_DOUBLE || type->handle == MPI_LONG_DOUBLE_INT;
    const bool two_long = type->handle == MPI_C_LONG_DOUBLE_COMPLEX;
    if (is_long || two_long) {
      memset(at + 10, 0, 6);
    }
    if (two_long) {
      memset(at + 26, 0, 6);
    }
    if (extent > size) { // a gap
      if (type->handle == MPI_SHORT_INT) {
        memset(at + 2, 0, 2);
      } else {
        memset(at + size, 0, extent - size);
      }
    }
  }
}

typedef enum Reduction { allreduce, reduce, scan, exscan, reduce_scatter_block, reduce_scatter, reductions } Reduction;
static const char* const reduction_names[] = {"allreduce",     "reduce", "scan", "exscan", "reduce_scatter_block",
                                              "reduce_scatter"};
enum { elements = 8, ops_of_a_pair = 7 };

static int run_reduction(Reduction reduction, Form form, const void* in, void* out, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  int counts[64];
  for (int r = 0; r < ranks; ++r) {
    counts[r] = elements;
  }
  int code = MPI_SUCCESS;
  switch (reduction) {
  case allreduce:
    code = CALL(form, Allreduce, Iallreduce, in, out, elements, type, op, comm);
    break;
  case reduce:
    code = CALL(form, Reduce, Ireduce, in, out, elements, type, op, 0, comm);
    break;
  case scan:
    code = CALL(form, Scan, Iscan, in, out, elements, type, op, comm);
    break;
  case exscan:
    code = CALL(form, Exscan, Iexscan, in, out, elements, type, op, comm);
    break;
  case reduce_scatter_block:
    code = CALL(form, Reduce_scatter_block, Ireduce_scatter_block, in, out, elements, type, op, comm);
    break;
  default:
    code = CALL(form, Reduce_scatter, Ireduce_scatter, in, out, counts, type, op, comm);
  }
  return complete(form, code, &request);
}

static void compare_reduction(const Type* type, const char* op_name, MPI_Op op, Reduction reduction, Form form,
                              const Pair* comms) {
  (void)snprintf(context, sizeof context, "%s %s of %s, %s", form_names[form], reduction_names[reduction], type->name,
                 op_name);
  MPI_Aint lower = 0;
  MPI_Aint span = 0;
  int size = 0;
  MPI_Type_get_extent(type->handle, &lower, &span);
  MPI_Type_size(type->handle, &size);
  const size_t extent = (size_t)span;
  const size_t bytes = extent * elements * (size_t)ranks;
  char* const in = malloc(bytes);
  char* const out[2] = {malloc(bytes), malloc(bytes)};
  for (int i = 0; i < elements * ranks; ++i) {
    put_element(type, in + (size_t)i * extent, (size_t)size, extent, (rank + i) % 2);
  }
  int classes[2];
  for (int which = 0; which < 2; ++which) {
    memset(out[which], 0, bytes);
    const MPI_Comm comm = which == 0 ? comms->taken : comms->left;
    classes[which] = class_of(run_reduction(reduction, form, in, out[which], type->handle, op, comm));
    clear_unused(type, out[which], (size_t)size, extent, elements * ranks);
  }
  if (classes[0] != classes[1]) {
    FAIL("error class %d, of the MPI library %d", classes[0], classes[1]);
  } else if (classes[0] == MPI_SUCCESS && memcmp(out[0], out[1], bytes) != 0) {
    FAIL("another result than the MPI library's");
  }
  free(in);
  free(out[0]);
  free(out[1]);
}

// MPICH 4.0 ends the process for them.
static bool is_fatal(const Type* type, MPI_Op op) {
#ifdef MPICH_NUMVERSION
  return (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR) &&
         (type->handle == MPI_FLOAT || type->handle == MPI_DOUBLE || type->handle == MPI_LONG_DOUBLE);
#else
  (void)type;
  (void)op;
  return false;
#endif
}

static void run_reductions(void) {
#define TYPE(type, bits)                                                                                               \
  { #type, type, bits }
  const Type types[] = {TYPE(MPI_CHAR, integer),
                        TYPE(MPI_SIGNED_CHAR, integer),
                        TYPE(MPI_UNSIGNED_CHAR, integer),
                        TYPE(MPI_BYTE, integer),
                        TYPE(MPI_WCHAR, integer),
                        TYPE(MPI_SHORT, integer),
                        TYPE(MPI_UNSIGNED_SHORT, integer),
                        TYPE(MPI_INT, integer),
                        TYPE(MPI_UNSIGNED, integer),
                        TYPE(MPI_LONG, integer),
                        TYPE(MPI_UNSIGNED_LONG, integer),
                        TYPE(MPI_LONG_LONG, integer),
                        TYPE(MPI_UNSIGNED_LONG_LONG, integer),
                        TYPE(MPI_FLOAT, real),
                        TYPE(MPI_DOUBLE, real),
                        TYPE(MPI_LONG_DOUBLE, real),
                        TYPE(MPI_C_BOOL, integer),
                        TYPE(MPI_INT8_T, integer),
                        TYPE(MPI_INT16_T, integer),
                        TYPE(MPI_INT32_T, integer),
                        TYPE(MPI_INT64_T, integer),
                        TYPE(MPI_UINT8_T, integer),
                        TYPE(MPI_UINT16_T, integer),
                        TYPE(MPI_UINT32_T, integer),
                        TYPE(MPI_UINT64_T, integer),
                        TYPE(MPI_AINT, integer),
                        TYPE(MPI_COUNT, integer),
                        TYPE(MPI_OFFSET, integer),
                        TYPE(MPI_C_COMPLEX, complex),
                        TYPE(MPI_C_DOUBLE_COMPLEX, complex),
                        TYPE(MPI_C_LONG_DOUBLE_COMPLEX, complex),
                        TYPE(MPI_FLOAT_INT, with_int),
                        TYPE(MPI_DOUBLE_INT, with_int),
                        TYPE(MPI_LONG_INT, with_int),
                        TYPE(MPI_2INT, with_int),
                        TYPE(MPI_SHORT_INT, with_int),
                        TYPE(MPI_LONG_DOUBLE_INT, with_int),
                        TYPE(MPI_CHARACTER, integer),
                        TYPE(MPI_INTEGER, integer),
                        TYPE(MPI_LOGICAL, integer),
                        TYPE(MPI_REAL, real),
                        TYPE(MPI_DOUBLE_PRECISION, real),
                        TYPE(MPI_COMPLEX, complex),
                        TYPE(MPI_DOUBLE_COMPLEX, complex),
                        TYPE(MPI_2INTEGER, integer),
                        TYPE(MPI_2REAL, pair_of_reals),
                        TYPE(MPI_2DOUBLE_PRECISION, pair_of_reals),
                        TYPE(MPI_INTEGER1, integer),
                        TYPE(MPI_INTEGER2, integer),
                        TYPE(MPI_INTEGER4, integer),
                        TYPE(MPI_INTEGER8, integer),
                        TYPE(MPI_REAL4, real),
                        TYPE(MPI_REAL8, real),
                        TYPE(MPI_REAL16, integer),
                        TYPE(MPI_COMPLEX8, complex),
                        TYPE(MPI_COMPLEX16, complex),
                        TYPE(MPI_COMPLEX32, integer),
                        TYPE(MPI_PACKED, integer)};
#undef TYPE
#define OP(op)                                                                                                         \
  { #op, op }
  const struct {
    const char* name;
    MPI_Op handle;
  } ops[] = {OP(MPI_SUM),  OP(MPI_PROD), OP(MPI_MAX),  OP(MPI_MIN),    OP(MPI_LAND),   OP(MPI_LOR),  OP(MPI_LXOR),
             OP(MPI_BAND), OP(MPI_BOR),  OP(MPI_BXOR), OP(MPI_MINLOC), OP(MPI_MAXLOC), OP(MPI_NO_OP)};
#undef OP
  for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
    if (types[t].handle == MPI_DATATYPE_NULL) {
      continue;
    }
    Pair comms;
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; ++o) {
      if (o % ops_of_a_pair == 0) { // the engine keeps requests for 64 kinds of calls on a communicator
        if (o > 0) {
          free_pair(&comms);
        }
        comms = pair_of(MPI_COMM_WORLD);
      }
      if (is_fatal(&types[t], ops[o].handle)) {
        continue;
      }
      for (int form = 0; form < form_count; ++form) {
        for (int reduction = 0; reduction < (form == nonblocking ? reductions : allreduce + 1); ++reduction) {
          compare_reduction(&types[t], ops[o].name, ops[o].handle, (Reduction)reduction, (Form)form, &comms);
        }
      }
    }
    free_pair(&comms);
  }
}

// ---- blocks in any places

typedef enum Vector {
  allgatherv,
  gatherv,
  scatterv,
  alltoallv,
  alltoallw,
  neighbor_allgatherv,
  neighbor_alltoallv,
  neighbor_alltoallw,
  vectors
} Vector;
static const char* const vector_names[] = {"allgatherv",         "gatherv",           "scatterv",
                                           "alltoallv",          "alltoallw",         "neighbor_allgatherv",
                                           "neighbor_alltoallv", "neighbor_alltoallw"};
enum { most_ranks = 16 };

// The arguments of one side; displacements in elements, in bytes for the functions with types for each block.
typedef struct Places {
  int counts[most_ranks], displs[most_ranks], bytes[most_ranks];
  MPI_Aint wide_bytes[most_ranks];
  MPI_Datatype types[most_ranks];
} Places;

static void place(Places* places, int block, int count, int displ) {
  places->counts[block] = count;
  places->displs[block] = displ;
  places->bytes[block] = displ * (int)sizeof(int);
  places->wide_bytes[block] = displ * (MPI_Aint)sizeof(int);
  places->types[block] = MPI_INT;
}

static bool one_block_sent(Vector vector) {
  return vector == allgatherv || vector == gatherv || vector == neighbor_allgatherv;
}

static int begin_vector(Vector vector, Form form, const int* in, const Places* send, int* out, const Places* recv,
                        MPI_Comm comm, MPI_Request* its_request) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  switch (vector) {
  case allgatherv:
    code = CALL(form, Allgatherv, Iallgatherv, in, send->counts[0], MPI_INT, out, recv->counts, recv->displs, MPI_INT,
                comm);
    break;
  case gatherv:
    code =
        CALL(form, Gatherv, Igatherv, in, send->counts[0], MPI_INT, out, recv->counts, recv->displs, MPI_INT, 0, comm);
    break;
  case scatterv:
    code = CALL(form, Scatterv, Iscatterv, in, send->counts, send->displs, MPI_INT, out, recv->counts[0], MPI_INT, 0,
                comm);
    break;
  case alltoallv:
    code = CALL(form, Alltoallv, Ialltoallv, in, send->counts, send->displs, MPI_INT, out, recv->counts, recv->displs,
                MPI_INT, comm);
    break;
  case alltoallw:
    code = CALL(form, Alltoallw, Ialltoallw, in, send->counts, send->bytes, send->types, out, recv->counts, recv->bytes,
                recv->types, comm);
    break;
  case neighbor_allgatherv:
    code = CALL(form, Neighbor_allgatherv, Ineighbor_allgatherv, in, send->counts[0], MPI_INT, out, recv->counts,
                recv->displs, MPI_INT, comm);
    break;
  case neighbor_alltoallv:
    code = CALL(form, Neighbor_alltoallv, Ineighbor_alltoallv, in, send->counts, send->displs, MPI_INT, out,
                recv->counts, recv->displs, MPI_INT, comm);
    break;
  default:
    code = CALL(form, Neighbor_alltoallw, Ineighbor_alltoallw, in, send->counts, send->wide_bytes, send->types, out,
                recv->counts, recv->wide_bytes, recv->types, comm);
  }
  *its_request = request;
  return code;
}

typedef enum Pattern { apart, zero, equal, repeated, descending, half, patterns } Pattern;
static const char* const pattern_names[] = {"apart", "zero", "equal", "repeated", "descending", "half"};
static int displacement(Pattern pattern, int block, int count) {
  switch (pattern) {
  case zero:
    return 0;
  case equal:
    return count;
  case repeated:
    return block / 2 * count;
  case descending:
    return (ranks - 1 - block) * count;
  case half:
    return block * (count / 2);
  default:
    return block * count;
  }
}

static int value(int source, int position, bool same) { return same ? 7 : (source + 1) * 1000000 + position; }

// Whether an element holds what some block brings there.
static bool is_brought(Vector vector, const Places* send, const Places* recv, int position, int found, bool same) {
  for (int r = 0; r < ranks; ++r) {
    const int source = vector == scatterv ? 0 : r;
    const int block = vector == scatterv ? 0 : r;
    const int at = position - (vector == scatterv ? 0 : recv->displs[block]);
    const int from = one_block_sent(vector) ? 0 : send->displs[rank];
    if (at >= 0 && at < recv->counts[block] && found == value(source, from + at, same)) {
      return true;
    }
  }
  return false;
}

static void compare_places(Vector vector, Form form, Pattern sent, Pattern received, int count, bool same,
                           const Pair* comms) {
  (void)snprintf(context, sizeof context, "%s %s, blocks sent %s, received %s, of %d, %s data", form_names[form],
                 vector_names[vector], pattern_names[sent], pattern_names[received], count,
                 same ? "equal" : "different");
  const int ints = (ranks + 1) * count;
  Places send;
  Places recv;
  for (int r = 0; r < ranks; ++r) {
    place(&send, r, count, displacement(sent, r, count));
    place(&recv, r, count, displacement(received, r, count));
  }
  int* const in = malloc((size_t)ints * sizeof *in);
  int* const out[2] = {malloc((size_t)ints * sizeof *in), malloc((size_t)ints * sizeof *in)};
  for (int i = 0; i < ints; ++i) {
    in[i] = value(rank, i, same);
  }
  int classes[2];
  for (int which = 0; which < 2; ++which) {
    MPI_Request request = MPI_REQUEST_NULL;
    memset(out[which], 0, (size_t)ints * sizeof *in);
    const MPI_Comm comm = which == 0 ? comms->taken : comms->left;
    const int code = begin_vector(vector, form, in, &send, out[which], &recv, comm, &request);
    classes[which] = class_of(complete(form, code, &request));
  }
  const bool overlap = received != apart && received != descending && vector != scatterv;
  if (classes[0] != classes[1]) {
    FAIL("error class %d, of the MPI library %d", classes[0], classes[1]);
  }
  for (int i = 0; classes[0] == MPI_SUCCESS && i < ints; ++i) {
    // Which of two blocks in one place stays is left open.
    if (out[0][i] != out[1][i] && !(overlap && is_brought(vector, &send, &recv, i, out[0][i], same))) {
      FAIL("element %d is %d, of the MPI library %d", i, out[0][i], out[1][i]);
      break;
    }
  }
  free(in);
  free(out[0]);
  free(out[1]);
}

// Everybody is everybody's neighbor.
static MPI_Comm with_neighbors(void) {
  int all[most_ranks];
  for (int r = 0; r < ranks; ++r) {
    all[r] = r;
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ranks, all, MPI_UNWEIGHTED, ranks, all, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &graph);
  return graph;
}

static void run_displacements(void) {
  MPI_Comm graph = with_neighbors();
  Pair comms = pair_of(graph);
  for (int vector = 0; vector < vectors; ++vector) {
    for (int form = 0; form < form_count; ++form) {
      for (int pattern = 0; pattern < patterns * patterns; ++pattern) {
        for (int data = 0; data < 2; ++data) {
          const Pattern sent = (Pattern)(pattern / patterns);
          const Pattern received = (Pattern)(pattern % patterns);
          if ((one_block_sent((Vector)vector) && sent != apart) || (vector == scatterv && received != apart)) {
            continue;
          }
          compare_places((Vector)vector, (Form)form, sent, received, 6, data == 0, &comms);
          compare_places((Vector)vector, (Form)form, sent, received, 6000, data == 0, &comms);
        }
      }
    }
  }
  free_pair(&comms);
  MPI_Comm_free(&graph);
}

// ---- arrays, datatypes and communicators that are gone once a nonblocking call has returned

enum { outstanding = 6, rounds = 12, block_ints = 800 };

// Open MPI 4.1 reads arrays of datatypes once more when the call is complete, and needs the communicator all the time.
static bool needs_arguments(void) {
#ifdef OPEN_MPI
  return !strict;
#else
  return false;
#endif
}

static void begin_and_forget(Vector vector, int call, const int* in, int* out, MPI_Comm comm, MPI_Request* request) {
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
  if (begin_vector(vector, nonblocking, in, send, out, recv, comm, request) != MPI_SUCCESS) {
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
static int expected_value(int vector, int call, int block) {
  switch (vector) {
  case vectors: // reduce_scatter
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

static void run_forgotten(int vector, bool frees_comm) {
  MPI_Comm graph = with_neighbors();
  const size_t ints = (size_t)ranks * block_ints;
  int* in[outstanding];
  int* out[outstanding];
  for (int c = 0; c < outstanding; ++c) {
    in[c] = malloc(ints * sizeof(int));
    out[c] = malloc(ints * sizeof(int));
  }
  for (int round = 0; round < rounds; ++round) {
    (void)snprintf(context, sizeof context, "%s, round %d%s",
                   vector == vectors ? "reduce_scatter" : vector_names[vector], round,
                   frees_comm ? ", communicator freed" : "");
    MPI_Request requests[outstanding];
    for (int c = 0; c < outstanding; ++c) {
      for (int i = 0; i < ranks * block_ints; ++i) {
        in[c][i] = rank * 1000 + i / block_ints * 10 + c;
        out[c][i] = -1;
      }
      if (vector == vectors) {
        begin_reduce_scatter(in[c], out[c], graph, &requests[c]);
      } else {
        begin_and_forget((Vector)vector, c, in[c], out[c], graph, &requests[c]);
      }
    }
    if (frees_comm) {
      MPI_Comm_free(&graph);
      graph = with_neighbors();
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
  MPI_Comm_free(&graph);
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

static void run_arrays(void) {
  (void)snprintf(context, sizeof context, "alltoallw on a grid");
  run_types_on_a_grid();
  for (int vector = 0; vector <= vectors; ++vector) {
    run_forgotten(vector, false);
    if (!needs_arguments()) {
      run_forgotten(vector, true);
    }
  }
}

// ---- a rank expects more than another sends it

enum { room = 100000 }; // of each block

// In units of the datatype: what a rank sends to another, and what that expects.
static const int lengths[][2] = {{0, 0},       {1, 3},       {2, 2},         {100, 101},   {100, 5000},
                                 {5000, 5003}, {256, 90000}, {40000, 99999}, {5000, 5000}, {70000, 100000}};
enum { length_count = sizeof lengths / sizeof lengths[0] };

typedef struct Exchange {
  int *in, *out;
  int *sent, *expected, *places;
  MPI_Datatype type;
} Exchange;

static int make_exchange(const Exchange* x, int call, Form form, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  switch (call) {
  case 0:
    code = CALL(form, Alltoallv, Ialltoallv, x->in, x->sent, x->places, x->type, x->out, x->expected, x->places,
                x->type, comm);
    break;
  case 1:
    code = CALL(form, Gatherv, Igatherv, x->in, x->sent[0], x->type, x->out, x->expected, x->places, x->type, 0, comm);
    break;
  case 2:
    code =
        CALL(form, Scatterv, Iscatterv, x->in, x->sent, x->places, x->type, x->out, x->expected[0], x->type, 0, comm);
    break;
  case 3:
    code =
        CALL(form, Allgatherv, Iallgatherv, x->in, x->sent[0], x->type, x->out, x->expected, x->places, x->type, comm);
    break;
  case 4:
    code = CALL(form, Allgather, Iallgather, x->in, x->sent[0], x->type, x->out, x->expected[0], x->type, comm);
    break;
  case 5:
    code = CALL(form, Alltoall, Ialltoall, x->in, x->sent[0], x->type, x->out, x->expected[0], x->type, comm);
    break;
  default:
    code = CALL(form, Gather, Igather, x->in, x->sent[0], x->type, x->out, x->expected[0], x->type, 0, comm);
    break;
  }
  return complete(form, code, &request);
}

static void exchange_on(Exchange* x, int call, Form form, int epoch, MPI_Comm comm, int* code) {
  for (int i = 0; i < 2 * ranks * room; ++i) {
    x->in[i] = i * (rank + 1) + epoch;
    x->out[i] = -1 - i;
  }
  *code = make_exchange(x, call, form, comm);
}

// Whether an element of the result is one that was sent. Of collectives whose blocks are equal MPI libraries pass on
// whole blocks, whatever stands behind what was sent.
static bool was_sent(const Exchange* x, int call, int element) {
  const int unit = x->type == MPI_INT ? element : element / 2;
  const int block = call == 3 ? room : x->expected[0];
  return call < 3 || unit % block < x->sent[0];
}

static void compare_exchanges(Exchange* x, int call, Form form, int epoch, Pair comms, int* theirs) {
  int code = MPI_SUCCESS;
  int left_code = MPI_SUCCESS;
  exchange_on(x, call, form, epoch, comms.left, &left_code);
  memcpy(theirs, x->out, sizeof(int) * 2 * (size_t)ranks * room);
  exchange_on(x, call, form, epoch, comms.taken, &code);
  if (left_code != MPI_SUCCESS) { // Open MPI refuses what a rank would send itself
    return;
  }
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    FAIL("error class %d: %s", class_of(code), text);
  }
  for (int i = 0; i < 2 * ranks * room; ++i) {
    if (x->out[i] != theirs[i] && was_sent(x, call, i)) {
      FAIL("element %d is %d, the library's %d", i, x->out[i], theirs[i]);
      break;
    }
  }
}

static void run_less_than_expected(void) {
  static const char* const calls[] = {"alltoallv", "gatherv",  "scatterv", "allgatherv",
                                      "allgather", "alltoall", "gather"};
#ifdef OPEN_MPI // its gather chooses another algorithm at each end, and hangs
  enum { call_count = sizeof calls / sizeof calls[0] - 1 };
#else
  enum { call_count = sizeof calls / sizeof calls[0] };
#endif
  const size_t bytes = sizeof(int) * 2 * (size_t)ranks * room;
  const size_t counts = sizeof(int) * (size_t)ranks;
  Exchange x = {malloc(bytes), malloc(bytes), malloc(counts), malloc(counts), malloc(counts), MPI_INT};
  int* const theirs = malloc(bytes);
  MPI_Datatype strided = MPI_DATATYPE_NULL; // one integer of two
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &strided);
  MPI_Type_commit(&strided);
  Pair comms = pair_of(MPI_COMM_WORLD);
  for (int variant = 0; variant < 2 * call_count * form_count; ++variant) {
    const int call = variant % call_count;
    const Form form = (Form)(variant / call_count % form_count);
    x.type = variant < call_count * form_count ? MPI_INT : strided;
    for (int epoch = 0; epoch < length_count; ++epoch) {
      for (int peer = 0; peer < ranks; ++peer) { // what goes between two ranks depends on their sum
        const int* const length = lengths[(epoch + (call < 3 ? rank + peer : 0)) % length_count];
        x.sent[peer] = length[0];
        x.expected[peer] = length[1];
        x.places[peer] = peer * room;
      }
      if (call < 3) { // Open MPI refuses the same to oneself
        x.expected[rank] = x.sent[rank];
      }
      (void)snprintf(context, sizeof context, "%s, %s, %s, epoch %d", calls[call], form_names[form],
                     x.type == MPI_INT ? "one run" : "strided", epoch);
      compare_exchanges(&x, call, form, epoch, comms, theirs);
    }
  }
  free_pair(&comms);
  MPI_Type_free(&strided);
  free(theirs);
  free(x.in);
  free(x.out);
  free(x.sent);
  free(x.expected);
  free(x.places);
}

// ---- errors of the drop-in library's own

static void run_error_texts(void) {
  int in = 1;
  int out = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  Pair comms = pair_of(MPI_COMM_WORLD);
  PERSISTENT(Allreduce)(&in, &out, 1, MPI_INT, MPI_SUM, comms.taken, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  const int code = MPI_Start(&request);
  char text[MPI_MAX_ERROR_STRING] = "";
  char class_text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  MPI_Error_string(class_of(code), class_text, &length);
  (void)snprintf(context, sizeof context, "MPI_Start of an active request");
  if (code == MPI_SUCCESS || strncmp(text, "stoker: ", 8) != 0 || strstr(text, "active") == NULL) {
    FAIL("the text is: %s", text);
  }
  if (class_of(code) != MPI_ERR_REQUEST && strcmp(class_text, "stoker: an error of the engine") != 0) {
    FAIL("class %d with the text: %s", class_of(code), class_text);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  free_pair(&comms);
}

// ---- main

typedef struct Section {
  const char* name;
  void (*run)(void);
} Section;

int main(int argc, char** argv) {
  const Section sections[] = {{"reductions", run_reductions},
                              {"displacements", run_displacements},
                              {"arrays", run_arrays},
                              {"less-than-expected", run_less_than_expected},
                              {"error-texts", run_error_texts}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int run = 0;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--strict") == 0) {
      strict = true;
      ++run;
    }
    for (size_t s = 0; s < sizeof sections / sizeof sections[0]; ++s) {
      if (strcmp(argv[i], sections[s].name) == 0) {
        sections[s].run();
        ++run;
      }
    }
  }
  MPI_Finalize();
  return failures > 0 || run != argc - 1 || run == 0;
}
