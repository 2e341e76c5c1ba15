// SPDX-License-Identifier: BSD-3-Clause
// An MPI job that hangs, for the test of the rig's mpirun.
#include <mpi.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (;;) {
    pause();
  }
}
