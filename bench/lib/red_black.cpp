// SPDX-License-Identifier: BSD-3-Clause
// Red-black Gauss-Seidel: see red_black.hpp.
#include "bench/lib/red_black.hpp"

#include <algorithm>
#include <cmath>

namespace stoker::bench {

float relax_row(const float* above, float* own, const float* below, std::size_t side, std::size_t row,
                unsigned colour) {
  float change = 0;
  for (std::size_t i = 1 + ((row + colour) & 1U); i <= side; i += 2) {
    const float value = 0.25F * ((above[i] + below[i]) + (own[i - 1] + own[i + 1]));
    change = std::max(change, std::abs(value - own[i]));
    own[i] = value;
  }
  return change;
}

} // namespace stoker::bench
