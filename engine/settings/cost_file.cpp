// SPDX-License-Identifier: BSD-3-Clause
// Parameters of the cost model as JSON.
#include "engine/settings/cost_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace stoker::engine {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const algos::Cost& cost) {
  return {{"seconds", cost.seconds}, {"seconds_per_byte", cost.seconds_per_byte}};
}

std::string level_name(std::size_t level) { return std::string(name_of(static_cast<algos::Level>(level))); }

} // namespace

std::string cost_text(const algos::CostModel& model) {
  ordered_json json;
  for (std::size_t level = 0; level < algos::level_count; ++level) {
    json[level_name(level)] = to_json(model.message[level]);
  }
  json["port"] = to_json(model.port);
  return json.dump(2);
}

void write_cost_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text << '\n') || !file.flush()) {
    throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno))); // NOLINT(concurrency-mt-unsafe)
  }
}

algos::CostModel read_cost_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno))); // NOLINT(concurrency-mt-unsafe)
  }
  try {
    const ordered_json json = ordered_json::parse(file);
    const auto cost = [&](const std::string& name) {
      const ordered_json& entry = json.at(name);
      const algos::Cost parsed{entry.at("seconds").get<double>(), entry.at("seconds_per_byte").get<double>()};
      if (!(parsed.seconds >= 0 && parsed.seconds_per_byte >= 0)) { // nor NaN
        throw std::runtime_error(fmt::format("{}: {}: expected 0 or more", path, name));
      }
      return parsed;
    };
    algos::CostModel model;
    for (std::size_t level = 0; level < algos::level_count; ++level) {
      model.message[level] = cost(level_name(level));
    }
    model.port = cost("port");
    return model;
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(fmt::format("{} is not what stoker calibrate writes: {}", path, error.what()));
  }
}

} // namespace stoker::engine
