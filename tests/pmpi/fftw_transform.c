// SPDX-License-Identifier: BSD-3-Clause
// FFTW's MPI transforms of a real program: a 3-D complex one forth and back and a transposed 2-D one. Prints each
// rank's results as a sum of its bits, so that two runs can be compared exactly; exits 1 when forth and back is not the
// identity.
#include <fftw3-mpi.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t digest(const fftw_complex* data, ptrdiff_t count) {
  uint64_t sum = 1469598103934665603U;
  for (ptrdiff_t i = 0; i < count; ++i) {
    for (int part = 0; part < 2; ++part) {
      uint64_t bits = 0;
      memcpy(&bits, &data[i][part], sizeof bits);
      sum = (sum ^ bits) * 1099511628211U;
    }
  }
  return sum;
}

static void fill(fftw_complex* data, ptrdiff_t count, ptrdiff_t first) {
  for (ptrdiff_t i = 0; i < count; ++i) {
    data[i][0] = sin((double)(first + i) * 0.37);
    data[i][1] = cos((double)(first + i) * 0.11);
  }
}

int main(int argc, char** argv) {
  enum { n0 = 64, n1 = 48, n2 = 32, m0 = 240, m1 = 360 };
  MPI_Init(&argc, &argv);
  fftw_mpi_init();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  ptrdiff_t rows = 0, first = 0;
  const ptrdiff_t size = fftw_mpi_local_size_3d(n0, n1, n2, MPI_COMM_WORLD, &rows, &first);
  fftw_complex* data = fftw_alloc_complex((size_t)size);
  fftw_plan forth = fftw_mpi_plan_dft_3d(n0, n1, n2, data, data, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_plan back = fftw_mpi_plan_dft_3d(n0, n1, n2, data, data, MPI_COMM_WORLD, FFTW_BACKWARD, FFTW_ESTIMATE);
  const ptrdiff_t count = rows * n1 * n2;
  fill(data, count, first * n1 * n2);
  double worst = 0;
  for (int step = 0; step < 5; ++step) {
    fftw_execute(forth);
    printf("rank %d 3d step %d %016llx\n", rank, step, (unsigned long long)digest(data, count));
    fftw_execute(back);
    for (ptrdiff_t i = 0; i < count; ++i) {
      data[i][0] /= (double)n0 * n1 * n2;
      data[i][1] /= (double)n0 * n1 * n2;
      worst = fmax(worst, fabs(data[i][0] - sin((double)(first * n1 * n2 + i) * 0.37)));
    }
  }
  fftw_destroy_plan(forth);
  fftw_destroy_plan(back);
  fftw_free(data);

  ptrdiff_t columns = 0, first_column = 0;
  const ptrdiff_t flat =
      fftw_mpi_local_size_2d_transposed(m0, m1, MPI_COMM_WORLD, &rows, &first, &columns, &first_column);
  data = fftw_alloc_complex((size_t)flat);
  forth =
      fftw_mpi_plan_dft_2d(m0, m1, data, data, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_OUT);
  fill(data, rows * m1, first * m1);
  fftw_execute(forth);
  printf("rank %d 2d %016llx\n", rank, (unsigned long long)digest(data, columns * m0));
  fftw_destroy_plan(forth);
  fftw_free(data);

  fftw_mpi_cleanup();
  MPI_Finalize();
  if (!(worst < 1e-12)) {
    fprintf(stderr, "FAILED rank %d: forth and back differs by %g\n", rank, worst);
    return 1;
  }
  return 0;
}
