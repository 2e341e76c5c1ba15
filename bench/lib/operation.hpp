// SPDX-License-Identifier: BSD-3-Clause
// The ways to carry out one exchange, behind one interface: begin, perhaps poll, finish. A blocking call does all in
// start.
#pragma once

#include "bench/lib/exchange.hpp"
#include "bench/lib/measure.hpp"

#include <memory>
#include <optional>
#include <string>

namespace stoker::bench {

// Where the time of an exchange went: sums over all epochs so far, in seconds.
struct PhaseSums {
  double epochs = 0;
  double before = 0;  // until the first message to another node
  double between = 0; // until the last message to or from another node is done
  double all = 0;
};

class Operation {
public:
  virtual ~Operation() = default;
  virtual void start() = 0;
  // True when complete; then wait is not called any more.
  virtual bool test() = 0;
  virtual void wait() = 0;
  // What the reports call it: "mpi-blocking", "mpi-nonblocking", "mpi-persistent", "engine", "inline".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string algorithm() const { return "mpi"; }
  // The phases on this rank; nothing if they are not known.
  [[nodiscard]] virtual std::optional<PhaseSums> phases() const { return std::nullopt; }
  // The time that init took on this rank, counted from when all ranks had reached it; nothing if there was no init.
  [[nodiscard]] virtual std::optional<double> init_us() const { return std::nullopt; }
  // Whether it runs on the engine's helpers, which must then not be paused.
  [[nodiscard]] virtual bool needs_helpers() const { return false; }

  void run() {
    start();
    wait();
  }
};

// Times an init, of whatever kind, by one clock for all. Construction is collective.
class InitTimer {
public:
  explicit InitTimer(MPI_Comm comm) {
    MPI_Barrier(comm);
    begin_ = Clock::now();
  }
  void stop() { us_ = microseconds(Clock::now() - begin_); }
  [[nodiscard]] double us() const { return us_; }

private:
  Clock::time_point begin_;
  double us_ = 0;
};

// All of them are collective and keep a reference to the exchange.
std::unique_ptr<Operation> mpi_blocking(const Exchange& exchange);
std::unique_ptr<Operation> mpi_nonblocking(const Exchange& exchange);
// Null where the MPI library has no persistent collectives.
std::unique_ptr<Operation> mpi_persistent(const Exchange& exchange);
// `executor`: "engine" or "inline"; an empty algorithm leaves the choice to stoker.
std::unique_ptr<Operation> stoker_persistent(const Exchange& exchange, Engine& engine, const std::string& executor,
                                             const std::string& algorithm);

// Three epochs, each with new data and poisoned outputs; throws when data are wrong.
void validate(Operation& operation, Exchange& exchange);

} // namespace stoker::bench
