// SPDX-License-Identifier: BSD-3-Clause
// What failed, by any thread.
#include "tests/pmpi/conformance.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool strict = false;
bool keeps_handles = false;

atomic_int failures = 0;
static _Thread_local char context[256] = "";

void set_context(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(context, sizeof context, format, arguments);
  va_end(arguments);
}

int world_rank(void) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size(void) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void fail(const char* format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  int initialized = 0;
  MPI_Initialized(&initialized);
  fprintf(stderr, "FAILED rank %d: %s: %s\n", initialized ? world_rank() : -1, context, message);
  if (++failures == 20) {
    fprintf(stderr, "FAILED: that is enough\n");
    abort();
  }
}

void expect(bool condition, const char* what) {
  if (!condition) {
    fail("%s", what);
  }
}

void expect_success(int code, const char* what) {
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    fail("%s: %s", what, text);
  }
}
