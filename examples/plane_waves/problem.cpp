// SPDX-License-Identifier: BSD-3-Clause
#include "problem.hpp"

#include "linear_algebra.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plane_waves {
namespace {

// Levels of one dimension: -1/2 d2/dx2 - depth cos(2 pi x / L), tridiagonal in plane waves.
std::vector<double> cosine_levels(const Problem& p) {
  const std::size_t size = 2 * static_cast<std::size_t>(p.cutoff) + 1;
  std::vector<double> matrix(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    matrix[i * size + i] = p.kinetic(static_cast<int>(i) - p.cutoff);
    if (i > 0) {
      matrix[i * size + i - 1] = -p.depth / 2;
    }
  }
  return symmetric_eigenvalues(matrix, static_cast<int>(size));
}

std::vector<double> harmonic_levels(int count) {
  std::vector<double> levels;
  for (int i = 0; i < count; ++i) {
    levels.push_back(i + 0.5);
  }
  return levels;
}

} // namespace

double Problem::along_axis(int i) const {
  const double x = side * i / n;
  return potential == Potential::harmonic ? (x - side / 2) * (x - side / 2) / 2
                                          : -depth * std::cos(2 * std::numbers::pi * i / n);
}

double Problem::kinetic(int k) const {
  const double wave_vector = 2 * std::numbers::pi / side * k;
  return wave_vector * wave_vector / 2;
}

double Problem::upper_bound() const {
  double highest = along_axis(0);
  for (int i = 1; i < n; ++i) {
    highest = std::max(highest, along_axis(i));
  }
  return 3 * (kinetic(cutoff) + highest);
}

std::vector<double> reference_levels(const Problem& problem, int count) {
  const std::vector<double> axis =
      problem.potential == Potential::harmonic ? harmonic_levels(count) : cosine_levels(problem);
  std::vector<double> levels;
  for (const double x : axis) {
    for (const double y : axis) {
      for (const double z : axis) {
        levels.push_back(x + y + z);
      }
    }
  }
  std::ranges::sort(levels);
  levels.resize(static_cast<std::size_t>(count));
  return levels;
}

} // namespace plane_waves
