// SPDX-License-Identifier: BSD-3-Clause
// The table of settings: one row each. Parsing, printing, help texts and documentation are derived from it.
#pragma once

#include "engine/settings/settings.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::engine {

// Whose interface a setting belongs to. Those that only tune are no interface: they may change with any version.
enum class SettingKind : std::uint8_t { engine, drop_in, tuning };

struct SettingRow {
  std::string_view key;
  bool (*set)(Settings&, std::string_view text); // false, or std::invalid_argument with a reason: not accepted
  std::string (*get)(const Settings&);           // the text that set() takes
  std::string accepted;                          // values and unit, in words
  std::string_view help;
  SettingKind kind = SettingKind::engine;
};

// Ordered by kind.
[[nodiscard]] const std::vector<SettingRow>& setting_table();

[[nodiscard]] std::string environment_name(std::string_view key);

} // namespace stoker::engine
