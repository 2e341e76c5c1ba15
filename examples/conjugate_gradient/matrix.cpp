// SPDX-License-Identifier: BSD-3-Clause
// Where matrices come from, and checks.
#include "matrix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

namespace conjugate_gradient {
namespace {

struct Entry {
  int row;
  int column;
  double value;
};

Matrix assemble(int rows, int columns, std::vector<Entry> entries) {
  std::ranges::stable_sort(
      entries, [](const Entry& a, const Entry& b) { return a.row != b.row ? a.row < b.row : a.column < b.column; });
  Matrix a{.rows = rows,
           .columns = columns,
           .first = std::vector<int>(static_cast<std::size_t>(rows) + 1),
           .column = {},
           .value = {}};
  const Entry* previous = nullptr;
  for (const Entry& e : entries) {
    if (previous != nullptr && previous->row == e.row && previous->column == e.column) {
      a.value.back() += e.value;
    } else {
      a.column.push_back(e.column);
      a.value.push_back(e.value);
      ++a.first[static_cast<std::size_t>(e.row) + 1];
    }
    previous = &e;
  }
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    a.first[row + 1] += a.first[row];
  }
  return a;
}

} // namespace

Matrix read_matrix_market(const std::string& file) {
  const matrix_market::Coordinates read = matrix_market::read(file);
  if (read.complex) {
    throw InputError(fmt::format("{}, line 1: field 'complex', expected real, integer or pattern", file));
  }
  std::vector<Entry> entries;
  entries.reserve(read.entries.size());
  for (const matrix_market::Entry& entry : read.entries) {
    entries.push_back({entry.row, entry.column, entry.value.real()});
  }
  return assemble(read.rows, read.columns, std::move(entries));
}

Matrix poisson(int side, int dimensions, Stencil stencil) {
  using Point = std::array<int, 3>;
  const int depth = dimensions == 3 ? side : 1;
  std::vector<Point> neighbors; // relative to the point, which is among them
  for (int z = dimensions == 3 ? -1 : 0; z <= (dimensions == 3 ? 1 : 0); ++z) {
    for (int y = -1; y <= 1; ++y) {
      for (int x = -1; x <= 1; ++x) {
        if (stencil == Stencil::box || std::abs(x) + std::abs(y) + std::abs(z) <= 1) {
          neighbors.push_back({x, y, z});
        }
      }
    }
  }
  const double points = static_cast<double>(side) * side * depth;
  if (points * static_cast<double>(neighbors.size()) > std::numeric_limits<int>::max()) {
    throw InputError(fmt::format("the Laplacian on {} points a side in {} dimensions has more than {} entries", side,
                                 dimensions, std::numeric_limits<int>::max()));
  }
  const auto inside = [&](const Point& p) {
    return p[0] >= 0 && p[0] < side && p[1] >= 0 && p[1] < side && p[2] >= 0 && p[2] < depth;
  };
  const auto row_of = [&](const Point& p) { return (((p[2] * side) + p[1]) * side) + p[0]; };
  std::vector<Entry> entries;
  for (int row = 0; row < static_cast<int>(points); ++row) {
    const Point at = {row % side, row / side % side, row / side / side};
    for (const Point& step : neighbors) {
      const Point other = {at[0] + step[0], at[1] + step[1], at[2] + step[2]};
      if (inside(other)) {
        entries.push_back({row, row_of(other), other == at ? static_cast<double>(neighbors.size()) - 1 : -1.0});
      }
    }
  }
  return assemble(static_cast<int>(points), static_cast<int>(points), std::move(entries));
}

void require_symmetric(const Matrix& a) {
  if (a.rows != a.columns) {
    throw InputError(
        fmt::format("the matrix has {} rows and {} columns; conjugate gradients need a square one", a.rows, a.columns));
  }
  const auto value_at = [&](int row, int column) {
    const auto begin = a.column.begin() + a.first[static_cast<std::size_t>(row)];
    const auto end = a.column.begin() + a.first[static_cast<std::size_t>(row) + 1];
    const auto found = std::lower_bound(begin, end, column);
    return found == end || *found != column ? 0.0 : a.value[static_cast<std::size_t>(found - a.column.begin())];
  };
  for (int row = 0; row < a.rows; ++row) {
    if (!(value_at(row, row) > 0)) {
      throw InputError(fmt::format("diagonal entry {} is {}; conjugate gradients need a positive definite matrix",
                                   row + 1, value_at(row, row)));
    }
    for (int i = a.first[static_cast<std::size_t>(row)]; i < a.first[static_cast<std::size_t>(row) + 1]; ++i) {
      const int column = a.column[static_cast<std::size_t>(i)];
      if (a.value[static_cast<std::size_t>(i)] != value_at(column, row)) {
        throw InputError(
            fmt::format("entry ({0}, {1}) is {2} but ({1}, {0}) is {3}; conjugate gradients need a symmetric matrix",
                        row + 1, column + 1, a.value[static_cast<std::size_t>(i)], value_at(column, row)));
      }
    }
  }
}

} // namespace conjugate_gradient
