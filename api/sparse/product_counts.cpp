// SPDX-License-Identifier: BSD-3-Clause
// Communication of a sparse matrix-vector product: see product_counts.hpp.
#include "api/sparse/product_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace matrix_market {

namespace {

// The rank whose block has element i of n: block b begins at floor(n b / ranks).
int owner(int i, int n, int ranks) { return static_cast<int>(((static_cast<long long>(i) + 1) * ranks - 1) / n); }

} // namespace

CountMatrix product_counts(const Coordinates& matrix, int ranks) {
  std::vector<std::pair<int, int>> needs; // rank, column
  needs.reserve(matrix.entries.size());
  for (const Entry& entry : matrix.entries) {
    needs.emplace_back(owner(entry.row, matrix.rows, ranks), entry.column);
  }
  std::ranges::sort(needs);
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  const auto size = static_cast<std::size_t>(ranks);
  CountMatrix counts(size, std::vector<int>(size, 0));
  for (const auto& [rank, column] : needs) {
    const int source = owner(column, matrix.columns, ranks);
    if (source != rank) {
      ++counts[static_cast<std::size_t>(source)][static_cast<std::size_t>(rank)];
    }
  }
  return counts;
}

} // namespace matrix_market
