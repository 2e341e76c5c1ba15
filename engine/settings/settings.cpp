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
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>

namespace stoker::engine {
namespace {

constexpr std::string_view environment_prefix = "STOKER_";
constexpr const char* file_variable = "STOKER_SETTINGS_FILE";
// Not settings, but variables of the drop-in library, and of this project's scripts and tests.
constexpr std::array<std::string_view, 5> tool_prefixes{"STOKER_PMPI_", "STOKER_BUILD", "STOKER_CLUSTER", "STOKER_RIG_",
                                                        "STOKER_TEST_"};

std::string environment_name(std::string_view key) {
  std::string name(environment_prefix);
  for (const char c : key) {
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

// "; did you mean X?" when a known key is near, else where to find them.
std::string suggestion(std::string_view key, bool as_environment) {
  std::string lower(key);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::tolower(c)); });
  const SettingRow* nearest = nullptr;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const SettingRow& candidate : setting_table()) {
    const std::size_t distance = algos::edit_distance(lower, candidate.key);
    if (distance < least) {
      least = distance;
      nearest = &candidate;
    }
  }
  if (least > std::max<std::size_t>(2, lower.size() / 3)) {
    return "; `stoker info` lists the known ones";
  }
  return fmt::format("; did you mean {}?",
                     as_environment ? environment_name(nearest->key) : fmt::format("\"{}\"", nearest->key));
}

class Resolver {
public:
  // `where` is how a message names the origin: "the environment", "settings.toml:3".
  void apply(std::string_view key, std::string_view text, Origin origin, std::string_view where) {
    const auto found = std::ranges::find(setting_table(), key, &SettingRow::key);
    if (found == setting_table().end()) {
      throw Error(Code::setting, fmt::format("unknown setting \"{}\" from {}{}", key, where, suggestion(key, false)));
    }
    const auto refuse = [&](const std::string& reason) {
      throw Error(Code::setting,
                  fmt::format("setting {}: \"{}\" from {} is not accepted: {}", key, text, where, reason));
    };
    try {
      if (!found->set(settings_, text)) {
        refuse("expected " + found->accepted);
      }
    } catch (const std::invalid_argument& error) {
      refuse(error.what());
    }
    origins_[found->key] = origin;
  }

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] Origin origin(std::string_view key) const {
    const auto found = origins_.find(key);
    return found == origins_.end() ? Origin::default_ : found->second;
  }

private:
  Settings settings_;
  std::map<std::string_view, Origin> origins_;
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

void apply_file(Resolver& resolver, const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) {
    throw Error(Code::setting, fmt::format("{}: cannot read the settings file \"{}\"", file_variable, path));
  }
  try {
    const toml::table file = toml::parse_file(path);
    for (const auto& [key, node] : file) {
      const std::string where = fmt::format("{}:{}", path, key.source().begin.line);
      const auto text = text_of(node);
      if (!text && std::ranges::find(setting_table(), key.str(), &SettingRow::key) != setting_table().end()) {
        throw Error(Code::setting,
                    fmt::format("setting {} from {} must be a string, a whole number or a boolean", key.str(), where));
      }
      resolver.apply(key.str(), text.value_or(""), Origin::file, where);
    }
  } catch (const toml::parse_error& error) {
    throw Error(Code::setting,
                fmt::format("{}:{}: not valid TOML: {}", path, error.source().begin.line, error.description()));
  }
}

Resolver resolve(std::span<const SettingText> call_settings) {
  Resolver resolver;
  if (const char* path = std::getenv(file_variable); path != nullptr && *path != '\0') {
    apply_file(resolver, path);
  }
  for (const SettingRow& known : setting_table()) {
    const std::string name = environment_name(known.key);
    if (const char* text = std::getenv(name.c_str())) {
      resolver.apply(known.key, text, Origin::environment, fmt::format("the environment ({})", name));
    }
  }
  for (const auto& [key, text] : call_settings) {
    resolver.apply(key, text, Origin::call, "the call");
  }
  return resolver;
}

} // namespace

std::vector<SettingHelp> known_settings() {
  const Settings defaults;
  std::vector<SettingHelp> list;
  for (const SettingRow& known : setting_table()) {
    list.push_back({known.key, environment_name(known.key), known.get(defaults), known.accepted, known.help});
  }
  return list;
}

std::string_view name_of(Origin origin) {
  switch (origin) {
  case Origin::default_:
    return "default";
  case Origin::file:
    return "file";
  case Origin::environment:
    return "environment";
  case Origin::call:
    return "call";
  }
  return {};
}

Settings load_settings(std::span<const SettingText> call_settings) { return resolve(call_settings).settings(); }

std::vector<EffectiveSetting> effective_settings(std::span<const SettingText> call_settings) {
  const Resolver resolver = resolve(call_settings);
  std::vector<EffectiveSetting> list;
  for (const SettingRow& known : setting_table()) {
    list.push_back({known.key, known.get(resolver.settings()), resolver.origin(known.key), known.help});
  }
  return list;
}

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
