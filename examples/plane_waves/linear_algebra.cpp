// SPDX-License-Identifier: BSD-3-Clause
#include "linear_algebra.hpp"

#include <fmt/core.h>

#include <stdexcept>

extern "C" { // NOLINTBEGIN(readability-identifier-naming): as Fortran compilers name them
void zgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const std::complex<double>* alpha, const std::complex<double>* a, const int* lda,
            const std::complex<double>* b, const int* ldb, const std::complex<double>* beta, std::complex<double>* c,
            const int* ldc);
void zhegv_(const int* itype, const char* jobz, const char* uplo, const int* n, std::complex<double>* a, const int* lda,
            std::complex<double>* b, const int* ldb, double* w, std::complex<double>* work, const int* lwork,
            double* rwork, int* info);
void dsyev_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
            const int* lwork, int* info);
} // NOLINTEND(readability-identifier-naming)

namespace plane_waves {
namespace {

const Complex zero = 0;
const Complex one = 1;

} // namespace

void inner_products(const Complex* a, int rows, const Complex* b, int columns, std::size_t length, Complex* c,
                    int stride) {
  const int k = static_cast<int>(length);
  zgemm_("C", "N", &rows, &columns, &k, &one, a, &k, b, &k, &zero, c, &stride);
}

void combine(const Complex* a, int count, const Complex* b, int columns, std::size_t length, Complex* c) {
  const int m = static_cast<int>(length);
  zgemm_("N", "N", &m, &columns, &count, &one, a, &m, b, &count, &zero, c, &m);
}

std::vector<double> generalised_eigenvalues(std::vector<Complex>& h, std::vector<Complex>& overlap, int size) {
  const int kind = 1; // h x = value overlap x
  const int room = 64 * size;
  int info = 0;
  std::vector<double> values(static_cast<std::size_t>(size));
  std::vector<Complex> work(static_cast<std::size_t>(room));
  std::vector<double> real_work(3 * static_cast<std::size_t>(size));
  zhegv_(&kind, "V", "U", &size, h.data(), &size, overlap.data(), &size, values.data(), work.data(), &room,
         real_work.data(), &info);
  if (info != 0) {
    throw std::runtime_error(fmt::format("the {} filtered bands are linearly dependent (zhegv: {}): "
                                         "a lower --degree keeps them apart",
                                         size, info));
  }
  return values;
}

std::vector<double> symmetric_eigenvalues(std::vector<double>& matrix, int size) {
  const int room = 64 * size;
  int info = 0;
  std::vector<double> values(static_cast<std::size_t>(size));
  std::vector<double> work(static_cast<std::size_t>(room));
  dsyev_("N", "U", &size, matrix.data(), &size, values.data(), work.data(), &room, &info);
  if (info != 0) {
    throw std::runtime_error(fmt::format("dsyev does not converge ({})", info));
  }
  return values;
}

} // namespace plane_waves
