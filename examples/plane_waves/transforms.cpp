// SPDX-License-Identifier: BSD-3-Clause
// Local Fourier transforms with FFTW.
#include "transforms.hpp"

#include <algorithm>

namespace plane_waves {
namespace {

// `count` transforms of n values `stride` apart, each beginning `distance` after the one before, in place.
Plan transforms_in_place(int n, int count, int stride, int distance, Complex* data, int sign) {
  auto* p = reinterpret_cast<fftw_complex*>(data);
  return Plan(
      fftw_plan_many_dft(1, &n, count, p, nullptr, stride, distance, p, nullptr, stride, distance, sign, FFTW_MEASURE));
}

} // namespace

Transforms::Transforms(const Grid& grid, const std::vector<double>& axis)
    : grid_(grid), axis_(axis), panel_(aligned_array<Complex>(product(grid.n, grid.waves()))),
      plane_(aligned_array<Complex>(grid.points())) {
  const int n = grid.n;
  const int waves = grid.waves();
  z_backward_ = transforms_in_place(n, waves, waves, 1, panel_.get(), FFTW_BACKWARD);
  z_forward_ = transforms_in_place(n, waves, waves, 1, panel_.get(), FFTW_FORWARD);
  const int first[] = {0, grid.position(grid.cutoff + 1)};
  const int columns[] = {grid.cutoff + 1, grid.cutoff};
  for (int i = 0; i < 2; ++i) {
    y_backward_[i] = transforms_in_place(n, columns[i], n, 1, &plane_[first[i]], FFTW_BACKWARD);
    y_forward_[i] = transforms_in_place(n, columns[i], n, 1, &plane_[first[i]], FFTW_FORWARD);
  }
  x_backward_ = transforms_in_place(n, n, 1, n, plane_.get(), FFTW_BACKWARD);
  x_forward_ = transforms_in_place(n, n, 1, n, plane_.get(), FFTW_FORWARD);
}

void Transforms::multiply_plane(const Complex* from, int plane, Complex* to) const {
  const int n = grid_.n;
  const int waves = grid_.waves();
  const int positive = grid_.cutoff + 1;
  const auto for_each_row = [&](auto visit) { // of both layouts
    for (int ky = 0; ky < waves; ++ky) {
      const int owner = ky / grid_.rows();
      const auto block = product(owner, grid_.planes()) + static_cast<std::size_t>(plane);
      const auto row = product(ky % grid_.rows(), waves);
      visit(block * grid_.layer() + row, &plane_[grid_.position(ky) * n]);
    }
  };
  std::fill_n(plane_.get(), grid_.points(), Complex{});
  for_each_row([&](std::size_t offset, Complex* line) {
    std::copy_n(from + offset, positive, line);
    std::copy_n(from + offset + positive, waves - positive, line + n - grid_.cutoff);
  });
  for (const Plan& plan : y_backward_) {
    fftw_execute(plan.get());
  }
  fftw_execute(x_backward_.get());
  const double scale = 1 / (static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n));
  const double z = axis_[product(grid_.rank, grid_.planes()) + static_cast<std::size_t>(plane)];
  for (int y = 0; y < n; ++y) {
    const double yz = axis_[static_cast<std::size_t>(y)] + z;
    for (int x = 0; x < n; ++x) {
      plane_[y * n + x] *= scale * (axis_[static_cast<std::size_t>(x)] + yz);
    }
  }
  fftw_execute(x_forward_.get());
  for (const Plan& plan : y_forward_) {
    fftw_execute(plan.get());
  }
  for_each_row([&](std::size_t offset, const Complex* line) {
    std::copy_n(line, positive, to + offset);
    std::copy_n(line + n - grid_.cutoff, waves - positive, to + offset + positive);
  });
}

} // namespace plane_waves
