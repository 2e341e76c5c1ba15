// SPDX-License-Identifier: BSD-3-Clause
// How the values of settings are read from the call, the environment and a TOML file.
#include "engine/settings/settings.hpp"

#include "algos/select/edit_distance.hpp"
#include "engine/base/error.hpp"
#include "engine/settings/setting_table.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>

namespace stoker::engine {
namespace {

constexpr std::string_view environment_prefix = "STOKER_";
constexpr const char* file_variable = "STOKER_SETTINGS_FILE";
// Not settings, but variables of this project's scripts and tests.
constexpr std::array<std::string_view, 3> tool_prefixes{"STOKER_BUILD", "STOKER_CLUSTER", "STOKER_TEST_"};

const SettingRow* find_row(std::string_view key) {
  const auto found = std::ranges::find(setting_table(), key, &SettingRow::key);
  return found == setting_table().end() ? nullptr : &*found;
}

// What may stand for an unknown key: one setting for all collectives instead of one for each, a known key that is near,
// or where to find them.
std::string suggestion(std::string_view key, bool as_environment) {
  std::string lower(key);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return c == '-' ? '_' : std::tolower(c); });
  const auto name = [&](std::string_view known) {
    return as_environment ? environment_name(known) : fmt::format("\"{}\"", known);
  };
  constexpr std::string_view former = "_algorithm";
  if (lower.ends_with(former)) {
    const std::string_view collective = std::string_view(lower).substr(0, lower.size() - former.size());
    if (algos::find_collective(collective)) {
      return fmt::format("; {} has replaced it: give that {}=...", name("algorithms"), collective);
    }
  }
  std::vector<std::string_view> keys;
  std::ranges::transform(setting_table(), std::back_inserter(keys), &SettingRow::key);
  const auto nearest = algos::nearest_name(lower, keys);
  return nearest ? fmt::format("; did you mean {}?", name(*nearest)) : "; `stoker info` lists the known ones";
}

struct Resolved {
  Settings settings;
  std::map<const SettingRow*, Origin> origins;
  std::vector<std::string> refused; // drop-in settings, which then keep the value that they have

  // `where` is how a message names the origin: "the environment", "settings.toml:3".
  void apply(std::string_view key, std::string_view text, Origin origin, std::string_view where) {
    const SettingRow* const row = find_row(key);
    if (row == nullptr) {
      throw Error(Code::setting, "unknown setting \"{}\" from {}{}", key, where, suggestion(key, false));
    }
    const auto refuse = [&](const std::string& reason) {
      const std::string message =
          fmt::format("setting {}: \"{}\" from {} is not accepted: {}", key, text, where, reason);
      if (row->kind != SettingKind::drop_in || origin == Origin::call) {
        throw Error(Code::setting, message);
      }
      refused.push_back(message + "; " + row->get(settings) + " is taken");
    };
    if (origin == Origin::call && row->kind == SettingKind::drop_in) {
      refuse("it is the drop-in library's, which reads the environment and the settings file");
    }
    try {
      if (!row->set(settings, text)) {
        return refuse("expected " + row->accepted);
      }
    } catch (const std::invalid_argument& error) {
      return refuse(error.what());
    }
    origins[row] = origin;
  }
};

// A TOML value in the text form that the other origins use; nothing for what no setting can be.
std::optional<std::string> text_of(const toml::node& node) {
  if (auto text = node.value_exact<std::string>()) {
    return text;
  }
  if (const auto number = node.value_exact<std::int64_t>()) {
    return std::to_string(*number);
  }
  if (const auto flag = node.value_exact<bool>()) {
    return *flag ? "1" : "0";
  }
  return std::nullopt;
}

void apply_file(Resolved& resolved, const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) {
    throw Error(Code::setting, "{}: cannot read the settings file \"{}\"", file_variable, path);
  }
  try {
    const toml::table file = toml::parse_file(path);
    for (const auto& [key, node] : file) {
      const std::string where = fmt::format("{}:{}", path, key.source().begin.line);
      const auto text = text_of(node);
      if (!text && find_row(key.str()) != nullptr) {
        throw Error(Code::setting, "setting {} from {} must be a string, a whole number or a boolean", key.str(),
                    where);
      }
      resolved.apply(key.str(), text.value_or(""), Origin::file, where);
    }
  } catch (const toml::parse_error& error) {
    throw Error(Code::setting, "{}:{}: not valid TOML: {}", path, error.source().begin.line, error.description());
  }
}

Resolved resolve(std::span<const SettingText> call_settings) {
  Resolved resolved;
  if (const char* path = std::getenv(file_variable); path != nullptr && *path != '\0') {
    apply_file(resolved, path);
  }
  for (const SettingRow& known : setting_table()) {
    const std::string name = environment_name(known.key);
    if (const char* text = std::getenv(name.c_str())) {
      resolved.apply(known.key, text, Origin::environment, fmt::format("the environment ({})", name));
    }
  }
  for (const auto& [key, text] : call_settings) {
    resolved.apply(key, text, Origin::call, "the call");
  }
  return resolved;
}

} // namespace

std::string environment_name(std::string_view key) {
  std::string name(environment_prefix);
  std::ranges::transform(key, std::back_inserter(name), [](unsigned char c) { return std::toupper(c); });
  return name;
}

std::string_view name_of(Origin origin) {
  constexpr std::array<std::string_view, 4> names{"default", "file", "environment", "call"};
  return names[static_cast<std::size_t>(origin)];
}

Settings load_settings(std::span<const SettingText> call_settings) { return resolve(call_settings).settings; }

std::vector<EffectiveSetting> effective_settings(std::span<const SettingText> call_settings) {
  const Resolved resolved = resolve(call_settings);
  std::vector<EffectiveSetting> list;
  for (const SettingRow& row : setting_table()) {
    const auto origin = resolved.origins.find(&row);
    list.push_back(
        {&row, row.get(resolved.settings), origin == resolved.origins.end() ? Origin::default_ : origin->second});
  }
  return list;
}

std::vector<std::string> refused_drop_in_settings() { return resolve({}).refused; }

std::vector<std::string> environment_warnings() {
  std::vector<std::string> warnings;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with(environment_prefix) || name == file_variable ||
        std::ranges::any_of(tool_prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
        std::ranges::any_of(setting_table(),
                            [&](const SettingRow& known) { return name == environment_name(known.key); })) {
      continue;
    }
    warnings.push_back(fmt::format("environment variable {} is not a setting and is ignored{}", name,
                                   suggestion(name.substr(environment_prefix.size()), true)));
  }
  return warnings;
}

} // namespace stoker::engine
