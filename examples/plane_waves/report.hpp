// SPDX-License-Identifier: BSD-3-Clause
// What was measured of each exchange, as a table and as JSON lines.
#pragma once

#include "options.hpp"

#include <memory>
#include <string>
#include <vector>

namespace plane_waves {

// One way of exchange: its solver, and what was measured of it.
struct Contender {
  Variant variant;
  std::unique_ptr<Exchange> exchange;
  std::unique_ptr<Solver> solver = {};
  std::vector<double> began = {};   // when every solution did on this rank, by CLOCK_MONOTONIC, in seconds
  std::vector<double> seconds = {}; // of every solution, the slowest rank's
  std::vector<double> exposed = {}; // of every solution, inside calls of the exchange, mean over the ranks
  Solution solution = {};           // the latest
};

struct Timing {
  Variant variant;
  std::string executor;
  int iterations;
  double seconds;       // median
  double deviation;     // median absolute deviation from it
  double exposed;       // median seconds inside calls of the exchange
  double hidden;        // share of the exchange that passed outside stoker's calls, by its own count; NaN for MPI
  double began;         // the first solution, by CLOCK_MONOTONIC, in seconds
  double first;         // seconds that it took
  bool correct = false; // all checks of its states passed
};

// Collective; the result counts on rank 0.
Timing summarise(const Contender& contender, MPI_Comm comm);

void print_states(const Solution& solution, const std::vector<double>& expected);
void print_table(const std::vector<Timing>& timings);
void append_json(const std::string& file, const std::vector<Timing>& timings, const Options& o, int ranks, int nodes);

} // namespace plane_waves
