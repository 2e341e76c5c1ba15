// SPDX-License-Identifier: BSD-3-Clause
// The tuning file, which `stoker tune` writes, and the setting `tuning` names. Format: docs/tuning.md.
#pragma once

#include "algos/select/tuning_table.hpp"

#include <string>
#include <string_view>

namespace stoker::engine {

inline constexpr int tuning_version = 1; // others are refused

// Throws std::runtime_error that names the file, and why it cannot be read.
[[nodiscard]] std::string text_of_file(const std::string& path);
// `path` is for messages. Throws std::runtime_error that names it, the line, and what is wrong there.
[[nodiscard]] algos::TuningTable parse_tuning(std::string_view text, const std::string& path);
// The text of a file with these entries. `machine` says in words where they hold.
[[nodiscard]] std::string tuning_text(const algos::TuningTable& table, std::string_view machine);

} // namespace stoker::engine
