// SPDX-License-Identifier: BSD-3-Clause
// A study's outcomes as text and as JSON.
#pragma once

#include "api/cli/study.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace stoker::cli {

void print(const Study& study, bool phases);
[[nodiscard]] nlohmann::ordered_json to_json(const Study& study);
// Writes who sends how much in a call for a matrix's product, in a line as stoker-bench's --patterns has it. Throws
// std::runtime_error that names the file.
void write_send_counts(const Study& study, const std::string& path);

} // namespace stoker::cli
