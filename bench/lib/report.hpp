// SPDX-License-Identifier: BSD-3-Clause
// Results as a table for people and as one JSON object a line for programs. Rank 0 writes; the others' calls do
// nothing.
#pragma once

#include "bench/lib/measure.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace stoker::bench {

// One result. Values that do not apply are left empty and become null.
struct Row {
  std::string benchmark;
  std::optional<std::string> collective;
  std::optional<std::string> algorithm;
  std::string executor;
  std::optional<std::uint64_t> bytes; // per pair of ranks, or of the vector
  Summary time;                       // microseconds
  std::optional<double> overall_us;   // one step of computation and communication
  std::optional<double> compute_us;   // the same computation with nothing else going on
  std::optional<double> efficiency;
  std::optional<double> baseline_us;
  std::optional<double> ratio;                                    // ours / baseline
  std::string baseline;                                           // what the baseline is
  std::optional<double> init_us;                                  // of what is initialised once; on the slowest rank
  nlohmann::ordered_json more = nlohmann::ordered_json::object(); // of this benchmark only
};

// The number of uses after which an init that took init_us has paid for itself: ceil(T_init / (T_baseline - T)).
// Nothing if it never does, or if there is no init or no baseline.
std::optional<double> break_even(const Row& row);

class Report {
public:
  // `file` may be empty. Throws when it cannot be written.
  Report(bool writes, const std::string& file);

  // A line above the tables, for people.
  void note(const std::string& text) const;
  // Adds a key to every row from here on.
  void constant(const std::string& key, nlohmann::ordered_json value);
  // Begins a table: which keys of the rows it shows.
  void table(std::vector<std::string> keys);
  void add(const Row& row);

private:
  bool writes_;
  std::ofstream file_;
  nlohmann::ordered_json constants_ = nlohmann::ordered_json::object();
  std::vector<std::string> columns_;
};

} // namespace stoker::bench
