// SPDX-License-Identifier: BSD-3-Clause
// Structure functions by direct summation.
#include "structure.hpp"

#include <algorithm>

namespace taylor_green {
namespace {

// Adds the powers of a[i] - b[i].
void add(const double* a, const double* b, int count, StructureFunctions::Moments& sums) {
  StructureFunctions::Moments m = sums;
  for (int i = 0; i < count; ++i) {
    const double d = a[i] - b[i];
    const double square = d * d;
    m[0] += square;
    m[1] += square * d;
    m[2] += square * square;
    m[3] += square * square * square;
  }
  sums = m;
}

} // namespace

StructureFunctions::StructureFunctions(const Grid& grid)
    : grid_(grid), sums_(static_cast<std::size_t>(grid.n / 2 + 1)) {
  for (auto& component : velocity_) {
    component = aligned_array<double>(static_cast<std::size_t>(grid.planes()) * grid.points());
  }
}

void StructureFunctions::keep(std::size_t component, int plane, const double* values) {
  std::copy_n(values, grid_.points(), &velocity_[component][static_cast<std::size_t>(plane) * grid_.points()]);
}

void StructureFunctions::work(int portion, const std::function<void()>& between) {
  const int n = grid_.n;
  for (int r = portion; r <= n / 2; r += portions) {
    Entry& entry = sums_[static_cast<std::size_t>(r)];
    entry = {};
    for (std::size_t component = 0; component < 3; ++component) {
      Moments& along_x = component == 0 ? entry.longitudinal : entry.transverse;
      Moments& along_y = component == 1 ? entry.longitudinal : entry.transverse;
      for (int plane = 0; plane < grid_.planes(); ++plane) {
        const double* values = &velocity_[component][static_cast<std::size_t>(plane) * grid_.points()];
        for (int y = 0; y < n; ++y) {
          const double* row = values + y * n;
          add(row + r, row, n - r, along_x);
          add(row, row + n - r, r, along_x); // across the period
          add(values + (y + r) % n * n, row, n, along_y);
        }
        if (plane % 8 == 7) {
          between();
        }
      }
    }
  }
}

std::vector<StructureFunctions::Entry> StructureFunctions::result(MPI_Comm comm) const {
  std::vector<Entry> means = sums_;
  static_assert(sizeof(Entry) == 2 * sizeof(Moments));
  MPI_Allreduce(MPI_IN_PLACE, means.data(), static_cast<int>(means.size() * 2 * orders.size()), MPI_DOUBLE, MPI_SUM,
                comm);
  const double points = static_cast<double>(grid_.n) * static_cast<double>(grid_.points());
  for (Entry& entry : means) {
    for (std::size_t p = 0; p < orders.size(); ++p) {
      entry.longitudinal[p] /= 2 * points;
      entry.transverse[p] /= 4 * points;
    }
  }
  return means;
}

} // namespace taylor_green
