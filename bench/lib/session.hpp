// SPDX-License-Identifier: BSD-3-Clause
// One run of the driver: its options, what it runs on, and the engine that the benchmarks use.
#pragma once

#include "bench/lib/device.hpp"
#include "bench/lib/measure.hpp"
#include "bench/lib/report.hpp"

#include <stoker/stoker.hpp>

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stoker::bench {

// Options of every benchmark.
struct Options {
  std::string json;
  std::string thread_level = "multiple";
  std::vector<int> bind;             // rank r of the job is bound to core bind[r % size]; as launched when empty
  std::vector<std::string> settings; // "key=value", for the engine
  Budget budget;
};

class Session {
public:
  // MPI is initialised. Binds this rank if the options say so.
  Session(MPI_Comm comm, const Options& options, Report& report);

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int ranks_per_node() const { return ppn_; } // most on one
  [[nodiscard]] const Budget& budget() const { return options_.budget; }
  [[nodiscard]] Report& report() { return report_; }
  [[nodiscard]] std::shared_ptr<Device> device(); // of this rank; null: there is none

  // Collective. `executor`: "engine" or "inline"; --set may add to the settings, or overrule them.
  [[nodiscard]] Engine make_engine(const std::string& executor, std::vector<Setting> settings = {}) const;
  // Reports where the helpers of this engine run, once for people and in every later row. Collective.
  void describe(const Engine& engine);

private:
  void describe_machine();

  MPI_Comm comm_;
  const Options& options_;
  Report& report_;
  int rank_ = 0;
  int ranks_ = 0;
  int nodes_ = 0;
  int ppn_ = 0;
  int rank_on_node_ = 0;
  std::shared_ptr<Device> device_;
};

// Pauses an engine's helpers while others are measured, so that nobody else pays for them.
class HelperSwitch {
public:
  explicit HelperSwitch(Engine* engine) : engine_(engine) {}
  HelperSwitch(const HelperSwitch&) = delete;
  HelperSwitch& operator=(const HelperSwitch&) = delete;
  ~HelperSwitch() {
    try {
      set(true);
    } catch (const Error&) { // said when the engine is used next
    }
  }
  void set(bool running) {
    if (engine_ != nullptr && running != running_) {
      running ? engine_->resume() : engine_->pause();
      running_ = running;
    }
  }

private:
  Engine* engine_;
  bool running_ = true;
};

} // namespace stoker::bench
