// SPDX-License-Identifier: BSD-3-Clause
// Local Fourier transforms with FFTW.
#include "transforms.hpp"

#include <algorithm>

namespace taylor_green {
namespace {

fftw_complex* fftw(Complex* p) { return reinterpret_cast<fftw_complex*>(p); }

// `columns` transforms side by side, of n values `stride` apart, in place.
Plan side_by_side(int n, int columns, int stride, Complex* data, int sign) {
  return Plan(fftw_plan_many_dft(1, &n, columns, fftw(data), nullptr, stride, 1, fftw(data), nullptr, stride, 1, sign,
                                 FFTW_MEASURE));
}

} // namespace

Transforms::Transforms(const Grid& grid)
    : grid_(grid), width_(grid.n / 2 + 1), plane_(aligned_array<Complex>(product(grid.n, width_))) {
  const int n = grid.n;
  const int columns = grid.columns();
  const auto panel = aligned_array<Complex>(grid.panel());
  z_backward_ = side_by_side(n, columns, columns, panel.get(), FFTW_BACKWARD);
  z_forward_ = side_by_side(n, columns, columns, panel.get(), FFTW_FORWARD);
  y_backward_ = side_by_side(n, columns, width_, plane_.get(), FFTW_BACKWARD);
  y_forward_ = side_by_side(n, columns, width_, plane_.get(), FFTW_FORWARD);
  const auto real = aligned_array<double>(grid.points());
  x_backward_.reset(fftw_plan_many_dft_c2r(1, &n, n, fftw(plane_.get()), nullptr, 1, width_, real.get(), nullptr, 1, n,
                                           FFTW_MEASURE | FFTW_DESTROY_INPUT));
  x_forward_.reset(fftw_plan_many_dft_r2c(1, &n, n, real.get(), nullptr, 1, n, fftw(plane_.get()), nullptr, 1, width_,
                                          FFTW_MEASURE | FFTW_DESTROY_INPUT));
}

void Transforms::z_backward(Complex* panel) const { fftw_execute_dft(z_backward_.get(), fftw(panel), fftw(panel)); }
void Transforms::z_forward(Complex* panel) const { fftw_execute_dft(z_forward_.get(), fftw(panel), fftw(panel)); }

void Transforms::clear_plane() const { std::fill_n(plane_.get(), product(grid_.n, width_), Complex{}); }

void Transforms::to_physical(double* real) const {
  fftw_execute(y_backward_.get());
  fftw_execute_dft_c2r(x_backward_.get(), fftw(plane_.get()), real);
}

void Transforms::to_spectral(double* real) const {
  fftw_execute_dft_r2c(x_forward_.get(), real, fftw(plane_.get()));
  fftw_execute(y_forward_.get());
}

} // namespace taylor_green
