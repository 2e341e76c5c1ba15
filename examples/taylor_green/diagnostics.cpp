// SPDX-License-Identifier: BSD-3-Clause
// Energy, enstrophy, divergence and comparisons.
#include "diagnostics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace taylor_green {

Diagnostics diagnose(const Grid& grid, const Field& velocity, double time, MPI_Comm comm) {
  std::array<double, 2> sums{};    // energy, enstrophy
  std::array<double, 2> largest{}; // |k . u|^2, |k|^2 |u|^2
  std::size_t i = 0;
  for (int row = 0; row < grid.rows(); ++row) {
    const double ky = grid.ky(grid.rank, row);
    for (int z = 0; z < grid.n; ++z) {
      const double kz = grid.kz(z);
      for (int x = 0; x < grid.columns(); ++x, ++i) {
        const double kx = x;
        const double weight = x == 0 ? 1 : 2; // kx < 0 is the conjugate of kx > 0 and is not stored
        const double square = std::norm(velocity[0][i]) + std::norm(velocity[1][i]) + std::norm(velocity[2][i]);
        const double k2 = kx * kx + ky * ky + kz * kz;
        const double k_dot_u2 = std::norm(kx * velocity[0][i] + ky * velocity[1][i] + kz * velocity[2][i]);
        sums[0] += weight * square / 2;
        sums[1] += weight * (k2 * square - k_dot_u2) / 2;
        largest[0] = std::max(largest[0], k_dot_u2);
        largest[1] = std::max(largest[1], k2 * square);
      }
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Allreduce(MPI_IN_PLACE, largest.data(), 2, MPI_DOUBLE, MPI_MAX, comm);
  return {.time = time, .energy = sums[0], .enstrophy = sums[1], .divergence = std::sqrt(largest[0] / largest[1])};
}

double relative_difference(const Field& a, double factor, const Field& b, MPI_Comm comm) {
  std::array<double, 2> largest{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::size_t i = 0; i < a[axis].size(); ++i) {
      // Not std::max, which would drop a NaN.
      const double difference = std::abs(a[axis][i] - factor * b[axis][i]);
      largest[0] = difference <= largest[0] ? largest[0] : difference;
      largest[1] = std::max(largest[1], std::abs(factor * b[axis][i]));
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, largest.data(), 2, MPI_DOUBLE, MPI_MAX, comm);
  return largest[0] / largest[1];
}

double energy_imbalance(const std::vector<Diagnostics>& curve, double nu) {
  double worst = 0;
  for (std::size_t i = 2; i + 2 < curve.size(); ++i) {
    const double h = curve[i + 1].time - curve[i].time;
    const double slope =
        (curve[i - 2].energy - 8 * curve[i - 1].energy + 8 * curve[i + 1].energy - curve[i + 2].energy) / (12 * h);
    const double expected = -2 * nu * curve[i].enstrophy;
    worst = std::max(worst, std::abs(slope / expected - 1));
  }
  return worst;
}

// The mean of (u(x + r) - u(x))^2 is 2 <u^2> - 2 <u(x + r) u(x)>, a sum over the spectrum of u.
double second_order_structure(const Grid& grid, const Field& velocity, int separation, MPI_Comm comm) {
  const double r = 2 * std::numbers::pi / grid.n * separation;
  double sum = 0;
  std::size_t i = 0;
  for (int row = 0; row < grid.rows(); ++row) {
    const double along_y = 1 - std::cos(r * grid.ky(grid.rank, row));
    for (int z = 0; z < grid.n; ++z) {
      for (int x = 0; x < grid.columns(); ++x, ++i) {
        const double weight = x == 0 ? 1 : 2;
        const double along_x = 1 - std::cos(r * x);
        sum += weight * 2 * (along_x * std::norm(velocity[0][i]) + along_y * std::norm(velocity[1][i]));
      }
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  return sum / 2; // mean of the two directions
}

} // namespace taylor_green
