// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/study_output.hpp"

#include "api/cli/outcome_json.hpp"
#include "api/cli/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace stoker::cli {
namespace {

constexpr double seconds_per_us = 1e-6;

// The fastest row for a size.
std::size_t fastest(const Study& study, std::size_t size) {
  const auto row = std::ranges::min_element(
      study.rows, {}, [&](const Study::Row& candidate) { return candidate.outcomes[size].seconds; });
  return static_cast<std::size_t>(row - study.rows.begin());
}

std::string progress_text(const Study& study) {
  const algos::Scenario& scenario = study.rows.front().scenario;
  switch (scenario.progress) {
  case algos::Progress::helper:
    return fmt::format("{} helpers on each node, with cores of their own", scenario.helpers_per_node);
  case algos::Progress::shared_helper:
    return fmt::format("{} helpers on each node, on the cores of ranks", scenario.helpers_per_node);
  default:
    return "the ranks make progress themselves";
  }
}

std::string name_column(const Study& study, const std::string& name) {
  std::size_t width = 0;
  for (const Study::Row& row : study.rows) {
    width = std::max(width, row.name.size());
  }
  return fmt::format("{:<{}}", name, std::max<std::size_t>(width, 12));
}

// One line of times. `mark`: what follows the time of a size.
void print_times(const Study& study, const std::string& name, const Study::Row& row,
                 const std::function<double(const algos::Outcome&)>& seconds,
                 const std::function<std::string(std::size_t)>& mark) {
  fmt::print("{}", name_column(study, name));
  for (std::size_t b = 0; b < study.bytes.size(); ++b) {
    fmt::print(" {:>11.1f}{:<2}", seconds(row.outcomes[b]) / seconds_per_us, mark(b));
  }
  fmt::print("\n");
}

// What is taken from which size on.
void print_choices(const Study& study, const std::vector<std::string>& taken) {
  for (std::size_t b = 0; b < study.bytes.size(); ++b) {
    if (b == 0 || taken[b] != taken[b - 1]) {
      fmt::print("  from {}: {}\n", bytes_text(study.bytes[b]), taken[b]);
    }
  }
}

void print_below_table(const Study& study) {
  fmt::print("\n* the fastest\n");
  if (!study.defaults.empty()) {
    fmt::print("+ the default: what init takes if nobody names an algorithm\n");
    std::vector<std::string> taken;
    for (const algos::Choice& choice : study.defaults) {
      taken.push_back(to_text(choice));
    }
    print_choices(study, taken);
  }
  for (const Study::Row& row : study.rows) {
    if (row.is_library()) {
      fmt::print("\n{}: its rules, simulated with the algorithms of stoker\n", row.name);
      std::vector<std::string> taken;
      for (std::size_t b = 0; b < study.bytes.size(); ++b) {
        taken.push_back(fmt::format("{} ({})", to_text(row.choices[b]), row.notes[b]));
      }
      print_choices(study, taken);
    }
  }
}

} // namespace

void print(const Study& study, bool phases) {
  const algos::Scenario& scenario = study.rows.front().scenario;
  fmt::print("{}, {} on each in {} domain{}; {}; microseconds\n", study.title(), study.machine.ranks_per_node,
             study.machine.domains_per_node, study.machine.domains_per_node == 1 ? "" : "s", progress_text(study));
  fmt::print("\n{}", name_column(study, ""));
  for (const std::uint64_t bytes : study.bytes) {
    fmt::print(" {:>11}  ", bytes_text(bytes));
  }
  fmt::print("\n");
  const auto none = [](std::size_t) { return ""; };
  for (std::size_t r = 0; r < study.rows.size(); ++r) {
    const Study::Row& row = study.rows[r];
    print_times(study, row.name, row, &algos::Outcome::seconds, [&](std::size_t b) {
      return std::string(fastest(study, b) == r ? "*" : "") + (study.is_default(row, b) ? "+" : "");
    });
    if (scenario.computation > 0) {
      print_times(study, "  exposed", row, &algos::Outcome::exposed, none);
    }
    if (phases) {
      print_times(
          study, "  before", row, [](const algos::Outcome& o) { return o.phases.before; }, none);
      print_times(
          study, "  between", row, [](const algos::Outcome& o) { return o.phases.between; }, none);
      print_times(
          study, "  after", row, [](const algos::Outcome& o) { return o.phases.after; }, none);
    }
  }
  print_below_table(study);
}

nlohmann::ordered_json to_json(const Study& study) {
  const algos::Scenario& scenario = study.rows.front().scenario;
  constexpr std::array<const char*, 3> names = {"rank", "helper", "shared-helper"};
  nlohmann::ordered_json json{{"collective", algos::name_of(study.call.collective)},
                              {"machine", study.machine.name},
                              {"source", study.machine.source},
                              {"ranks", study.call.layout.ranks()},
                              {"nodes", study.call.layout.nodes()},
                              {"ranks_per_node", study.machine.ranks_per_node},
                              {"domains_per_node", study.machine.domains_per_node},
                              {"progress", names[static_cast<std::size_t>(scenario.progress)]},
                              {"computation_seconds", scenario.computation}};
  if (!study.call.grid.empty()) {
    json["grid"] = study.call.grid;
  }
  if (study.call.matrix != nullptr) {
    json["matrix"] = study.call.matrix_name;
  }
  if (scenario.progress != algos::Progress::rank) {
    json["helpers_per_node"] = scenario.helpers_per_node;
  }
  for (std::size_t b = 0; b < study.defaults.size(); ++b) {
    json["defaults"].push_back({{"bytes", study.bytes[b]}, {"algorithm", to_text(study.defaults[b])}});
  }
  for (std::size_t r = 0; r < study.rows.size(); ++r) {
    const Study::Row& row = study.rows[r];
    nlohmann::ordered_json entry{{row.is_library() ? "library" : "algorithm", row.name}};
    for (std::size_t b = 0; b < study.bytes.size(); ++b) {
      nlohmann::ordered_json point{{"bytes", study.bytes[b]}, {"fastest", fastest(study, b) == r}};
      if (!study.defaults.empty()) {
        point["default"] = study.is_default(row, b);
      }
      if (row.is_library()) {
        point["choice"] = to_text(row.choices[b]);
        point["note"] = row.notes[b];
      }
      point.update(to_json(row.outcomes[b]));
      entry["sizes"].push_back(std::move(point));
    }
    json["rows"].push_back(std::move(entry));
  }
  return json;
}

void write_send_counts(const Study& study, const std::string& path) {
  const matrix_market::Coordinates& matrix = *study.call.matrix;
  std::ofstream file(path);
  file << nlohmann::ordered_json{{"benchmark", "pattern"},
                                 {"matrix", study.call.matrix_name},
                                 {"rows", matrix.rows},
                                 {"columns", matrix.columns},
                                 {"entries", matrix.entries.size()},
                                 {"element_bytes", study.bytes.front()},
                                 {"send_counts", study.call.counts}}
       << '\n';
  if (!file.flush()) {
    throw std::runtime_error(
        fmt::format("--send-counts {}: {}", path, std::strerror(errno))); // NOLINT(concurrency-mt-unsafe)
  }
}

} // namespace stoker::cli
