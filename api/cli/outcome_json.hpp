// SPDX-License-Identifier: BSD-3-Clause
// What the simulator says, as JSON: for readers, and for the way from one process to another.
#pragma once

#include "algos/simulate/simulate.hpp"

#include <nlohmann/json.hpp>

namespace stoker::cli {

// Without activities.
[[nodiscard]] nlohmann::ordered_json to_json(const algos::Outcome& outcome);

// All of it.
[[nodiscard]] std::string packed(const algos::Outcome& outcome);
[[nodiscard]] algos::Outcome unpacked(const std::string& text);

} // namespace stoker::cli
