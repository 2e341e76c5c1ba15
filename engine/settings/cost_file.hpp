// SPDX-License-Identifier: BSD-3-Clause
// The cost model's parameters as a JSON file: {"self": {"seconds": ..., "seconds_per_byte": ...}, "domain": ...,
// "node": ..., "network": ..., "port": ...}. `stoker calibrate` writes it; `stoker schedule --model` and the setting
// cost_model read it.
#pragma once

#include "algos/select/cost_model.hpp"

#include <string>

namespace stoker::engine {

[[nodiscard]] std::string cost_text(const algos::CostModel& model);
// Both throw std::runtime_error that names the file and what is wrong with it.
void write_cost_file(const std::string& path, const std::string& text);
[[nodiscard]] algos::CostModel read_cost_file(const std::string& path);

} // namespace stoker::engine
