// SPDX-License-Identifier: BSD-3-Clause
#include "algos/select/init_cost.hpp"

#include "algos/select/selection.hpp"

#include <vector>

namespace stoker::algos {

double init_seconds(const Program& program) {
  constexpr double of_a_step = 3e-7;
  return of_a_step * static_cast<double>(program.steps.size());
}

bool pays_to_weigh(std::size_t candidates, double init, double seconds, std::uint64_t starts) {
  return static_cast<double>(starts) * seconds > static_cast<double>(candidates - 1) * init;
}

std::size_t preferred(std::span<const double> init, std::span<const double> seconds, std::uint64_t starts) {
  std::vector<double> together(seconds.begin(), seconds.end());
  for (std::size_t i = 0; i < together.size(); ++i) {
    together[i] = init[i] + (static_cast<double>(starts) * seconds[i]);
  }
  return preferred(together);
}

} // namespace stoker::algos
