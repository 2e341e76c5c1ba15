// SPDX-License-Identifier: BSD-3-Clause
// The exchanges that a benchmark goes through, collective by size, and the ways of executing them that it compares.
#pragma once

#include "bench/operation.hpp"
#include "bench/session.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stoker::bench {

struct PointOptions {
  std::vector<std::string> collectives = {"alltoall", "alltoallv"};
  std::vector<std::uint64_t> bytes;
  std::vector<std::string> executors = {"engine", "inline"};
  std::string algorithm;
  std::string buffers = "heap";
  bool validate_always = false;
  std::vector<Setting> settings; // of the engine, by the benchmark

  void add_to(CLI::App& app);
};

// One point and what runs at it.
class Point {
public:
  Point(Session& session, const PointOptions& options, Collective collective, std::uint64_t bytes, Engine* engine);

  [[nodiscard]] Exchange& exchange() { return exchange_; }
  [[nodiscard]] Engine* engine() { return engine_; } // null where no executor of stoker's was asked for
  // Adds an operation after validating it; null is ignored. Collective.
  Operation* add(std::unique_ptr<Operation> operation);
  // One per executor asked for, with the algorithm of --algorithm or the one given.
  std::vector<Operation*> add_stoker() { return add_stoker(options_.algorithm); }
  std::vector<Operation*> add_stoker(const std::string& algorithm);
  // `body` with helpers running exactly when `operation` needs them (never when it is null), and, if asked for, with
  // its data checked after every timed region.
  [[nodiscard]] Variant variant(Operation* operation, std::function<void()> body);
  [[nodiscard]] HelperSwitch& helpers() { return helpers_; }

private:
  const PointOptions& options_;
  Engine* engine_;
  HelperSwitch helpers_;
  Exchange exchange_;
  std::vector<std::unique_ptr<Operation>> operations_; // after the exchange: they refer to it
  int epoch_ = 0;
};

// Runs the operations back to back, measures and reports them under a benchmark's name. The first one is the baseline. With
// `breakdown`, rows have before_us, between_us and after_us: means over the epochs and over the ranks that send to other nodes.
// Returns the rows. Collective.
std::vector<Row> compare_runs(Session& session, Point& point, const std::vector<Operation*>& operations,
                              const std::string& benchmark, bool breakdown = false);

// Creates the engine that the options ask for (none where they ask for no executor), begins a table of these columns
// and calls `visit` for every point.
void for_each_point(Session& session, const PointOptions& options, std::vector<std::string> columns,
                    const std::function<void(Point&)>& visit);

} // namespace stoker::bench
