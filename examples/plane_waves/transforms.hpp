// SPDX-License-Identifier: BSD-3-Clause
// The local Fourier transforms, each in a work array that stays in cache.
#pragma once

#include "grid.hpp"

#include "examples/transposes/array.hpp"

#include <vector>

namespace plane_waves {

using namespace transposes;

class Transforms {
public:
  // Measures the plans, which takes a while. `axis` is the potential's share of each axis.
  Transforms(const Grid& grid, const std::vector<double>& axis);

  // Along z: one row's [kz or z][kx] panel, in place. The values at wave numbers that are not kept are up to the caller.
  [[nodiscard]] Complex* panel() const { return panel_.get(); }
  void z_backward() const { fftw_execute(z_backward_.get()); }
  void z_forward() const { fftw_execute(z_forward_.get()); }

  // Plane `plane` of transposed slabs, [rank][plane][row][kx]: to real space along y and x, times the potential, and back;
  // so scaled that forward after backward is the identity.
  void multiply_plane(const Complex* from, int plane, Complex* to) const;

private:
  Grid grid_;
  std::vector<double> axis_;
  AlignedArray<Complex> panel_; // [n][waves]
  AlignedArray<Complex> plane_; // [n][n]
  Plan z_backward_, z_forward_, x_backward_, x_forward_;
  // Along y: kx of 0..cutoff, and of -cutoff..-1.
  Plan y_backward_[2], y_forward_[2];
};

} // namespace plane_waves
