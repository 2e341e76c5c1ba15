// SPDX-License-Identifier: BSD-3-Clause
// Calls that the standard does not promise, made twice: on a communicator whose calls the drop-in library may take, and
// on one whose info leaves them to the MPI library (stoker_off). Both must agree in result or in error class. Without
// the drop-in library both are the MPI library's: a test of the test.
//
//   same_as_mpi SECTION...                  exits 0; 1 after lines with rank and case
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

// ---- main

typedef struct Section {
  const char* name;
  void (*run)(void);
} Section;

int main(int argc, char** argv) {
  const Section sections[] = {{"reductions", run_reductions}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int run = 0;
  for (int i = 1; i < argc; ++i) {
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
