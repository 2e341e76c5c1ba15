// SPDX-License-Identifier: BSD-3-Clause
// What the observed processors of a simulation did when.
#pragma once

#include "algos/simulate/simulate.hpp"
#include "topology/layout.hpp"

#include <string>

namespace stoker::cli {

struct TimeLines {
  std::string what; // the title
  const topology::Layout& layout;
  const algos::Scenario& scenario;
  const algos::Outcome& outcome;
};

// A lane for each processor. Throws std::invalid_argument for more than can be read.
void draw_time_lines(const TimeLines& lines, const std::string& path);
// Chrome trace JSON (chrome://tracing, Perfetto), numbered as the engine's own traces: a process for each rank, in
// which thread 0 is the rank and thread 1 the helper that it carries.
void write_trace(const TimeLines& lines, const std::string& path);

} // namespace stoker::cli
