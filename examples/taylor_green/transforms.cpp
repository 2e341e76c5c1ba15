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
    : grid_(grid), width_(grid.n / 2 + 1),
      panel_(aligned_array<Complex>(static_cast<std::size_t>(grid.n) * static_cast<std::size_t>(grid.columns()))),
      plane_(aligned_array<Complex>(static_cast<std::size_t>(grid.n) * static_cast<std::size_t>(width_))) {
  const int n = grid.n;
  const int columns = grid.columns();
  z_backward_ = side_by_side(n, columns, columns, panel_.get(), FFTW_BACKWARD);
  z_forward_ = side_by_side(n, columns, columns, panel_.get(), FFTW_FORWARD);
  y_backward_ = side_by_side(n, columns, width_, plane_.get(), FFTW_BACKWARD);
  y_forward_ = side_by_side(n, columns, width_, plane_.get(), FFTW_FORWARD);
  const auto real = aligned_array<double>(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  // Unaligned: with odd n the planes of a chunk start anywhere.
  const unsigned flags = FFTW_MEASURE | (n % 2 == 0 ? 0U : FFTW_UNALIGNED);
  x_backward_.reset(fftw_plan_many_dft_c2r(1, &n, n, fftw(plane_.get()), nullptr, 1, width_, real.get(), nullptr, 1, n,
                                           flags | FFTW_DESTROY_INPUT));
  x_forward_.reset(fftw_plan_many_dft_r2c(1, &n, n, real.get(), nullptr, 1, n, fftw(plane_.get()), nullptr, 1, width_,
                                          flags | FFTW_DESTROY_INPUT));
}

void Transforms::gather(const Complex* slab, int row) const {
  const int columns = grid_.columns();
  for (int z = 0; z < grid_.n; ++z) {
    std::copy_n(slab + static_cast<std::size_t>(z) * grid_.layer() + row * columns, columns, &panel_[z * columns]);
  }
}

void Transforms::scatter(Complex* slab, int row) const {
  const int columns = grid_.columns();
  for (int z = 0; z < grid_.n; ++z) {
    std::copy_n(&panel_[z * columns], columns, slab + static_cast<std::size_t>(z) * grid_.layer() + row * columns);
  }
}

std::size_t Transforms::row_offset(int c, int plane, int owner, int row) const {
  const auto first = static_cast<std::size_t>(plane - grid_.chunk(c).begin);
  return grid_.chunk_offset(c) + static_cast<std::size_t>(owner) * grid_.block(c) + first * grid_.layer() +
         static_cast<std::size_t>(row * grid_.columns());
}

void Transforms::to_physical(const Complex* slab, int c, int plane, double* real) const {
  std::fill_n(plane_.get(), static_cast<std::size_t>(grid_.n) * static_cast<std::size_t>(width_), Complex{});
  for (int owner = 0; owner < grid_.ranks; ++owner) {
    for (int row = 0; row < grid_.rows() && grid_.row_in_use(owner, row); ++row) {
      std::copy_n(slab + row_offset(c, plane, owner, row), grid_.columns(),
                  &plane_[grid_.position(grid_.ky(owner, row)) * width_]);
    }
  }
  fftw_execute(y_backward_.get());
  fftw_execute_dft_c2r(x_backward_.get(), fftw(plane_.get()), real);
}

void Transforms::to_spectral(double* real, int c, int plane, Complex* slab) const {
  fftw_execute_dft_r2c(x_forward_.get(), real, fftw(plane_.get()));
  fftw_execute(y_forward_.get());
  for (int owner = 0; owner < grid_.ranks; ++owner) {
    for (int row = 0; row < grid_.rows() && grid_.row_in_use(owner, row); ++row) {
      std::copy_n(&plane_[grid_.position(grid_.ky(owner, row)) * width_], grid_.columns(),
                  slab + row_offset(c, plane, owner, row));
    }
  }
}

} // namespace taylor_green
