// SPDX-License-Identifier: BSD-3-Clause
// Structure functions of the velocity, a standard statistic of turbulence: the mean of (u(x + r) - u(x))^p for p = 2,
// 3, 4, 6 and all separations r up to half a period along x and along y, longitudinal (the component along the
// separation) and transverse. They need whole planes only, no exchange: work for the time in which transposes are under
// way.
#pragma once

#include "grid.hpp"

#include "examples/transposes/array.hpp"

#include <mpi.h>

#include <array>
#include <functional>
#include <vector>

namespace taylor_green {

using namespace transposes;

class StructureFunctions {
public:
  static constexpr int portions = 4; // as there are right-hand sides in a time step
  static constexpr std::array<int, 4> orders{2, 3, 4, 6};
  using Moments = std::array<double, orders.size()>;
  struct Entry { // at one separation
    Moments longitudinal{};
    Moments transverse{};
  };

  explicit StructureFunctions(const Grid& grid);

  // Keeps plane `plane` of a velocity component for the portions of work that follow.
  void keep(std::size_t component, int plane, const double* values);
  // One portion: a quarter of the separations, all planes kept. Calls `between` from time to time.
  void work(int portion, const std::function<void()>& between);
  // The means at separations 0 .. n / 2, in grid spacings, after all portions. Collective.
  [[nodiscard]] std::vector<Entry> result(MPI_Comm comm) const;

private:
  Grid grid_;
  std::array<AlignedArray<double>, 3> velocity_; // [plane][y][x]
  std::vector<Entry> sums_;                      // by separation
};

} // namespace taylor_green
