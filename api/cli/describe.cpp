// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/describe.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stoker::cli {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> option_names(const CLI::Option& option) {
  if (option.get_positional()) {
    return {option.get_name()};
  }
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) {
    names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  return names;
}

ordered_json option_json(const CLI::Option& option) {
  ordered_json json;
  json["names"] = option_names(option);
  json["positional"] = option.get_positional();
  json["required"] = option.get_required();
  json["argument"] = option.get_items_expected_max() == 0 ? "" : option.get_type_name();
  json["many"] = option.get_items_expected_max() > 1 && option.get_allow_extra_args();
  json["default"] = option.get_default_str();
  json["help"] = option.get_description();
  json["not_with"] = ordered_json::array();
  for (const CLI::Option* other : option.get_excludes()) {
    json["not_with"].push_back(option_names(*other).front());
  }
  return json;
}

ordered_json command_json(const CLI::App& app) {
  ordered_json json;
  json["name"] = app.get_name();
  json["help"] = app.get_description();
  json["options"] = ordered_json::array();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) { // the others are hidden
      json["options"].push_back(option_json(*option));
    }
  }
  return json;
}

} // namespace

std::string describe(const CLI::App& app) {
  ordered_json json = command_json(app);
  json["commands"] = ordered_json::array();
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    json["commands"].push_back(command_json(*command));
  }
  return json.dump(2);
}

} // namespace stoker::cli
