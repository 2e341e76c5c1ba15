// SPDX-License-Identifier: BSD-3-Clause
// Sparse matrices by rows, and where they come from.
#pragma once

#include "api/sparse/matrix_market.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace conjugate_gradient {

using matrix_market::InputError;

struct Matrix {
  int rows = 0;
  int columns = 0;
  std::vector<int> first = {0}; // of each row in column and value; rows + 1 entries
  std::vector<int> column;      // ascending within a row
  std::vector<double> value;
};

// y[row] = A[row] x. The order of summation is that of the columns: the same for every distribution of the rows.
inline void multiply_row(const Matrix& a, int row, std::span<const double> x, std::span<double> y) {
  const auto r = static_cast<std::size_t>(row);
  double sum = 0;
  for (auto i = static_cast<std::size_t>(a.first[r]); i < static_cast<std::size_t>(a.first[r + 1]); ++i) {
    sum += a.value[i] * x[static_cast<std::size_t>(a.column[i])];
  }
  y[r] = sum;
}

// A Matrix Market file of any but complex numbers; a pattern's are ones. Entries that are given twice are added. Throws
// InputError that names file, line and what was expected.
Matrix read_matrix_market(const std::string& file);

// Which neighbors of a grid point have entries in its row: along the axes, or at the corners and edges, too.
enum class Stencil { star, box };

// The Laplacian on a grid of `side` points in each of 2 or 3 dimensions: 5-point or 7-point as a star, 9-point or
// 27-point as a box. Each neighbor has -1, and the diagonal the number of neighbors of an inner point. Throws
// InputError when it has more entries than an int counts.
Matrix poisson(int side, int dimensions = 2, Stencil stencil = Stencil::star);

// Throws InputError when conjugate gradients cannot solve with this matrix: not square, not symmetric, or a diagonal
// entry that is not positive.
void require_symmetric(const Matrix& a);

} // namespace conjugate_gradient
