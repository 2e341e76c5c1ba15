// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace stoker::cli {

// What a command prints on standard output. It runs without LD_PRELOAD, without input, and its standard error goes
// nowhere. Empty if it cannot be run.
[[nodiscard]] std::string output_of(std::vector<std::string> command);

} // namespace stoker::cli
