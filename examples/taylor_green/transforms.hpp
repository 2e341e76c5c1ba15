// SPDX-License-Identifier: BSD-3-Clause
// The local Fourier transforms, plane by plane and row by row, each in a work array that stays in cache.
#pragma once

#include "grid.hpp"

#include "examples/transposes/array.hpp"

namespace taylor_green {

using namespace transposes;

// No transform is normalised: forward after backward multiplies by n^3.
class Transforms {
public:
  // Measures the plans, which takes a while.
  explicit Transforms(const Grid& grid);

  // Along z: a row's [kz or z][kx] panel, in place. Panels are `aligned_array`s.
  void z_backward(Complex* panel) const;
  void z_forward(Complex* panel) const;

  // Along y and x, between n*n reals and the work array, which has line(ky), the kept kx, for each ky that is kept. All
  // else in it must be zero before to_physical, which leaves it undefined.
  [[nodiscard]] Complex* line(int ky) const { return &plane_[grid_.position(ky) * width_]; }
  void clear_plane() const;
  void to_physical(double* real) const;
  void to_spectral(double* real) const;

private:
  Grid grid_;
  int width_;                   // of a row of half-complex values, n / 2 + 1
  AlignedArray<Complex> plane_; // [n][width]
  Plan z_backward_, z_forward_, y_backward_, y_forward_, x_backward_, x_forward_;
};

} // namespace taylor_green
