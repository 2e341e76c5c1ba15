// SPDX-License-Identifier: BSD-3-Clause
// The local Fourier transforms, plane by plane and row by row, each in a work array that stays in cache.
#pragma once

#include "grid.hpp"

#include "examples/transposes/array.hpp"

#include <cstddef>

namespace taylor_green {

using namespace transposes;

// No transform is normalised: forward after backward multiplies by n^3.
class Transforms {
public:
  // Measures the plans, which takes a while.
  explicit Transforms(const Grid& grid);

  // Along z: one row's [kz or z][kx] panel, in place.
  [[nodiscard]] Complex* panel() const { return panel_.get(); }
  void z_backward() const { fftw_execute(z_backward_.get()); }
  void z_forward() const { fftw_execute(z_forward_.get()); }
  // Copies row `row` of a spectral slab from or to the panel.
  void gather(const Complex* slab, int row) const;
  void scatter(Complex* slab, int row) const;

  // Along y and x: plane `plane` of chunk c between a transposed slab, [rank][plane][row][kx] in each chunk, and n*n
  // reals.
  void to_physical(const Complex* slab, int c, int plane, double* real) const;
  void to_spectral(double* real, int c, int plane, Complex* slab) const;

private:
  [[nodiscard]] std::size_t row_offset(int c, int plane, int owner, int row) const;

  Grid grid_;
  int width_;                   // of a row of half-complex values, n / 2 + 1
  AlignedArray<Complex> panel_; // [n][columns]
  AlignedArray<Complex> plane_; // [n][width]
  Plan z_backward_, z_forward_, y_backward_, y_forward_, x_backward_, x_forward_;
};

} // namespace taylor_green
