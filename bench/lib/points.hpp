// SPDX-License-Identifier: BSD-3-Clause
// The exchanges that a benchmark goes through, collective by size, and the ways of executing them that it compares.
#pragma once

#include "bench/lib/operation.hpp"
#include "bench/lib/session.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stoker::bench {

struct PointOptions {
  std::vector<std::string> collectives = {"alltoall", "alltoallv"};
  std::vector<std::uint64_t> bytes;
  std::vector<std::string> executors = {"engine", "inline"};
  std::string algorithm;
  std::vector<std::string> buffers = {"heap"};
  bool validate_always = false;
  bool unchanged_inputs = false;
  int inits = 3;
  std::vector<Setting> settings; // of the engine, by the benchmark

  // All options, for benchmarks that go through collectives and sizes per pair, with an algorithm of stoker's.
  void add_to(CLI::App& app);
  // Those about sizes, and about the ways of executing an exchange.
  void add_bytes_to(CLI::App& app, const std::string& description);
  void add_ways_to(CLI::App& app);
};

// One point and what runs at it.
class Point {
public:
  // `buffers`: one of the options', which rows tell from here on. `shape`: what an Exchange is made of, after its
  // communicator.
  template <class... Shape>
  Point(Session& session, const PointOptions& options, Engine* engine, const std::string& buffers, Shape... shape)
      : session_(session), options_(options), engine_(engine), place_(place_of(session, engine, buffers)),
        helpers_(engine), exchange_(session.comm(), std::move(shape)..., place_) {
    session.report().constant("buffers", buffers);
  }

  [[nodiscard]] Exchange& exchange() { return exchange_; }
  [[nodiscard]] bool writes_inputs() const { return !options_.unchanged_inputs && !exchange_.on_device(); }
  [[nodiscard]] Engine* engine() { return engine_; }          // null where no executor of stoker's was asked for
  [[nodiscard]] const Place& place() const { return place_; } // of the buffers
  // Adds an operation after validating it; null is ignored. One with an init is made as often as the options say, for
  // the time of its init. Collective.
  Operation* add(const std::function<std::unique_ptr<Operation>()>& make);
  // Adds one operation for each executor that was asked for, with the algorithm of --algorithm or the one given.
  // Operations that stoker does not support here are left out with a note.
  std::vector<Operation*> add_stoker() { return add_stoker(options_.algorithm); }
  std::vector<Operation*> add_stoker(const std::string& algorithm);
  // A variant that runs `body` with helpers running exactly when `operation` needs them (never if that is null). If
  // asked for, data are checked after every timed region.
  [[nodiscard]] Variant variant(Operation* operation, std::function<void()> body);
  [[nodiscard]] HelperSwitch& helpers() { return helpers_; }
  // The times of an operation's inits, each on its slowest rank; nothing if it has no init.
  [[nodiscard]] std::optional<Summary> init_times(const Operation* operation) const;
  [[nodiscard]] std::optional<double> init_us(const Operation* operation) const; // their median

private:
  static Place place_of(Session& session, Engine* engine, const std::string& buffers);

  Session& session_;
  const PointOptions& options_;
  Engine* engine_;
  Place place_;
  HelperSwitch helpers_;
  Exchange exchange_;
  std::vector<std::unique_ptr<Operation>> operations_; // after the exchange: they refer to it
  std::map<const Operation*, Summary> init_times_;
  int epoch_ = 0;
};

// The operation that rows are compared with: the first one, or the fastest of the MPI library's.
enum class Baseline : std::uint8_t { first, fastest_mpi };

// Runs the operations back to back, measures and reports them, each in a row that has what is in `common`. Before each
// run, ranks write what they send, unless the options say otherwise: in caches of the others there is nothing of it, as
// in programs. Writing is part of the time. The first operation is one of the MPI library's. With `breakdown`, rows
// have before_us, between_us and after_us: means over the epochs and over the ranks that send to other nodes. Returns
// the rows. Collective.
std::vector<Row> compare_runs(Session& session, Point& point, const std::vector<Operation*>& operations,
                              const Row& common, bool breakdown = false, Baseline baseline = Baseline::first);

// Creates the engine that the options ask for (none where they ask for no executor) and begins a table of these
// columns.
std::optional<Engine> begin_points(Session& session, const PointOptions& options, std::vector<std::string> columns);

// The same, and calls `visit` for every point: of each collective, each size, each kind of buffers.
void for_each_point(Session& session, const PointOptions& options, std::vector<std::string> columns,
                    const std::function<void(Point&)>& visit);

} // namespace stoker::bench
