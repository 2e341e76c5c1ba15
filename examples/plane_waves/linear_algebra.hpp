// SPDX-License-Identifier: BSD-3-Clause
// The calls of BLAS and LAPACK that the solver needs. Matrices are stored by columns.
#pragma once

#include "examples/transposes/array.hpp"

#include <cstddef>
#include <vector>

namespace plane_waves {

using transposes::Complex;

// c = a^H b: `rows` x `columns`, from vectors of `length` values. c has columns of `stride` values.
void inner_products(const Complex* a, int rows, const Complex* b, int columns, std::size_t length, Complex* c,
                    int stride);
// c = a b: `columns` combinations of `count` vectors of `length` values; b has columns of `count` values.
void combine(const Complex* a, int count, const Complex* b, int columns, std::size_t length, Complex* c);

// The values, ascending, for which h x = value overlap x, and the vectors x in the place of h. Only upper triangles are
// read. Throws when the overlap is not positive definite.
std::vector<double> generalised_eigenvalues(std::vector<Complex>& h, std::vector<Complex>& overlap, int size);
// Ascending; the upper triangle is read, and the matrix is lost.
std::vector<double> symmetric_eigenvalues(std::vector<double>& matrix, int size);

} // namespace plane_waves
