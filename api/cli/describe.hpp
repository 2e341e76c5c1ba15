// SPDX-License-Identifier: BSD-3-Clause
// `stoker --describe`: what --help says of all commands as JSON, from which the manual pages and the completion of the
// shell are made.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace stoker::cli {

[[nodiscard]] std::string describe(const CLI::App& app);

} // namespace stoker::cli
