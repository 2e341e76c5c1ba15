// SPDX-License-Identifier: BSD-3-Clause
// The basis and the slab decomposition. The box is periodic with side L; a band is a sum of the plane waves
// exp(2 pi i k.x / L) with |kx|, |ky|, |kz| <= cutoff, and n points a side, n > 2 cutoff + 1.
//
//   spectral slab   all kz or z, `rows` of the ky, all kx      [kz or z][row][kx]
//   real slab       `planes` of the z, all y, all x            [plane][y][x]
//
// A transpose turns one into the other. Ranks whose share of rows or planes is smaller send padding, which is zero.
#pragma once

#include <algorithm>
#include <cstddef>

namespace plane_waves {

// As an index, or as a count of values.
inline std::size_t product(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

struct Grid {
  int n; // points a side
  int cutoff;
  int ranks;
  int rank; // this one

  [[nodiscard]] int waves() const { return 2 * cutoff + 1; } // kept along each axis
  [[nodiscard]] int rows() const { return (waves() + ranks - 1) / ranks; }
  [[nodiscard]] int planes() const { return (n + ranks - 1) / ranks; }
  [[nodiscard]] int rows_of(int owner) const { return std::clamp(waves() - owner * rows(), 0, rows()); }
  [[nodiscard]] int planes_of(int owner) const { return std::clamp(n - owner * planes(), 0, planes()); }

  // Kept wave numbers are in the order of the transform: 0..cutoff, -cutoff..-1.
  [[nodiscard]] int wave_number(int i) const { return i <= cutoff ? i : i - waves(); }
  // Where kept wave number i lies in a transform of length n.
  [[nodiscard]] int position(int i) const { return i <= cutoff ? i : i - waves() + n; }

  // Complex values: in one kz of the spectral slab, in a band's coefficients, in a slab that is transposed.
  [[nodiscard]] std::size_t layer() const { return product(rows(), waves()); }
  [[nodiscard]] std::size_t coefficients() const { return static_cast<std::size_t>(waves()) * layer(); }
  [[nodiscard]] std::size_t slab() const { return product(ranks, planes()) * layer(); }
  [[nodiscard]] std::size_t points() const { return product(n, n); }
};

} // namespace plane_waves
