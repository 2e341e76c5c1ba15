// SPDX-License-Identifier: BSD-3-Clause
// Runs a case with one way of exchange or several in turn, and times the steps.
#pragma once

#include "diagnostics.hpp"
#include "solver.hpp"

#include <memory>
#include <vector>

namespace taylor_green {

struct Case {
  bool two_dimensional = false; // whose exact solution is known
  int n = 64;
  double nu = 0.01;
  double dt = 0.01;
  int steps = 10;
  bool statistics = false; // structure functions at every step
};

// The initial velocity of the Taylor-Green vortex.
Vector initial_velocity(const Case& setup, double x, double y, double z);

// One way of exchange: its solver, and what was measured of it.
struct Contender {
  Variant variant;
  std::unique_ptr<Exchange> exchange;
  std::unique_ptr<Solver> solver = {};
  std::vector<double> step_seconds = {};    // of every timed step, the slowest rank's
  std::vector<double> exposed_seconds = {}; // of every timed step, inside calls of the exchange, mean over the ranks
  std::vector<double> helper_seconds = {};  // of every timed step, processor time of helpers, for each rank
  double structure = 0;                     // second_order_structure() before the last step, a quarter period apart
  Field initial = {};                       // of the latest run
  std::vector<Diagnostics> curve = {};      // of the latest run
};

// 1, 2, 4, 8, 12, as far as a rank has rows for them. Collective.
std::vector<int> candidate_chunks(const Case& setup, MPI_Comm comm);

// With `chunks` 0 the best candidate is found by a few timed steps of each. Collective.
Contender make_contender(Variant variant, const Case& setup, int chunks, const EngineOptions& options, MPI_Comm comm);

// From the initial velocity, setup.steps steps. `label` opens the progress lines. Collective.
void run(Contender& contender, const Case& setup, const std::string& label, MPI_Comm comm);

} // namespace taylor_green
