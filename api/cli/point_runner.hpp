// SPDX-License-Identifier: BSD-3-Clause
// Runs simulations in processes of their own: several at a time, and one that the kernel kills for its memory takes
// nothing else with it.
#pragma once

#include "algos/simulate/simulate.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace stoker::cli {

struct Point {
  std::string what; // for messages
  std::function<algos::Outcome(const algos::OnProgress&)> run;
};

// `jobs` at a time. Shows on standard error how far it is, if that is a terminal. Throws std::runtime_error for the
// first point that fails, which it names.
[[nodiscard]] std::vector<algos::Outcome> run_points(std::span<const Point> points, int jobs);

} // namespace stoker::cli
