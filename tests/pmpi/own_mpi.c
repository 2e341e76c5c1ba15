// SPDX-License-Identifier: BSD-3-Clause
// A program with an MPI library linked into itself, as a static one is: here the few functions that it calls.
#include <stdio.h>

int MPI_Init(int* argc, char*** argv);
int MPI_Finalize(void);

int MPI_Init(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
  return 0;
}

int MPI_Finalize(void) { return 0; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  puts("it works");
  return MPI_Finalize();
}
