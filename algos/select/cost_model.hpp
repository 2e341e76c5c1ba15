// SPDX-License-Identifier: BSD-3-Clause
// Predicts how long a schedule takes. The model is Hockney's, with separate parameters for each distance, and a port
// per node through which all its ranks reach the network.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "algos/schedule/traffic.hpp"
#include "topology/layout.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace stoker::algos {

// A message of m bytes takes seconds + m * seconds_per_byte.
struct Cost {
  double seconds = 0;
  double seconds_per_byte = 0;

  [[nodiscard]] double of(std::uint64_t bytes) const {
    return seconds + (static_cast<double>(bytes) * seconds_per_byte);
  }
};

struct CostModel {
  std::array<Cost, level_count> message; // by Level; self: a copy
  Cost port;                             // of a node: what one message occupies it for, in each direction

  [[nodiscard]] const Cost& at(Level level) const { return message[static_cast<std::size_t>(level)]; }
};

// A present-day cluster in round numbers. The default choice is made with these if nothing was measured.
inline constexpr CostModel typical_cluster = {
    .message = {Cost{5e-8, 1e-10}, Cost{3e-7, 1e-10}, Cost{5e-7, 1.5e-10}, Cost{2e-6, 1e-10}}, .port = {2e-7, 1e-10}};

// The least time of a fence among all ranks, which is a barrier of messages without bytes.
[[nodiscard]] double fence_seconds(const topology::Layout& layout, const CostModel& model);

// Seconds from the start of all ranks to the end of the last one. A rank sends one message at a time and receives one
// at a time, in the order in which they become ready; copies occupy its sending side. `programs` holds one for each
// rank, in rank order. Throws std::invalid_argument when they do not match, or wait for each other.
[[nodiscard]] double predict(std::span<const Program> programs, const topology::Layout& layout, const CostModel& model);

// The times in seconds that follow from one rank's program alone. The schedule takes at least the longest of these over
// all ranks, and at least the sums over each node for the port. predict() is exact, but needs the programs of all
// ranks.
struct Load {
  double sending = 0; // and copying
  double receiving = 0;
  double chain = 0; // the longest of steps of which each waits for the one before
  double port_out = 0;
  double port_in = 0;
};
[[nodiscard]] Load load_of(const Program& program, const topology::Layout& layout, const CostModel& model);

} // namespace stoker::algos
