// SPDX-License-Identifier: BSD-3-Clause
// Every operator of MPI's on every datatype.
#include "tests/pmpi/same_as_mpi.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

// A long double's; the rest of x87's means nothing.
enum { long_size = sizeof(long double), long_bytes = LDBL_MANT_DIG == 64 ? 10 : long_size };

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
    memcpy(at, &as_long, long_bytes);
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

static void clear_unused(const Type* type, char* data, size_t size, size_t extent, int count) {
  for (int i = 0; i < count; ++i) {
    char* const at = data + (size_t)i * extent;
    const bool is_long = type->handle == MPI_LONG_DOUBLE || type->handle == MPI_LONG_DOUBLE_INT;
    const bool two_long = type->handle == MPI_C_LONG_DOUBLE_COMPLEX;
    if (is_long || two_long) {
      memset(at + long_bytes, 0, long_size - long_bytes);
    }
    if (two_long) {
      memset(at + long_size + long_bytes, 0, long_size - long_bytes);
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

static const Family reductions[] = {allreduce, reduce, scan, exscan, reduce_scatter_block, reduce_scatter};
enum { reduction_count = sizeof reductions / sizeof reductions[0], elements = 8, ops_of_a_pair = 5 };

static int run_reduction(Family reduction, Form form, const void* in, void* out, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  Places recv;
  for (int r = 0; r < ranks; ++r) {
    place(&recv, r, elements, 0);
  }
  Arguments arguments = arguments_of(reduction, in, &recv, out, &recv, comm);
  arguments.recvtype = type;
  arguments.op = op;
  return carry_out(reduction, form, &arguments);
}

static void compare_reduction(const Type* type, const char* op_name, MPI_Op op, Family reduction, Form form,
                              const Pair* comms) {
  (void)snprintf(context, sizeof context, "%s %s of %s, %s", form_name(form), family_name(reduction), type->name,
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
    classes[which] = class_of(
        run_reduction(reduction, which == 0 ? form : reference_form(form), in, out[which], type->handle, op, comm));
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

// MPICH ends the process for them: 4.0 for C's types, 4.2 for Fortran's as well.
static bool is_fatal(const Type* type, MPI_Op op) {
  const bool of_c = type->handle == MPI_FLOAT || type->handle == MPI_DOUBLE || type->handle == MPI_LONG_DOUBLE;
  const bool of_fortran = type->bits == real || type->handle == MPI_REAL16;
  return is_mpich() && (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR) &&
         (of_c || (!is_mpich_before(401) && of_fortran));
}

void run_reductions(void) {
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
  } ops[] = {OP(MPI_SUM),  OP(MPI_PROD), OP(MPI_MAX),  OP(MPI_MIN),    OP(MPI_LAND),   OP(MPI_LOR),   OP(MPI_LXOR),
             OP(MPI_BAND), OP(MPI_BOR),  OP(MPI_BXOR), OP(MPI_MINLOC), OP(MPI_MAXLOC), OP(MPI_NO_OP), OP(MPI_REPLACE)};
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
      for (Form form = form_blocking; form <= form_mpix; ++form) {
        for (int reduction = 0; is_available(form) && reduction < reduction_count; ++reduction) {
          compare_reduction(&types[t], ops[o].name, ops[o].handle, reductions[reduction], form, &comms);
        }
      }
    }
    free_pair(&comms);
  }
}
