// SPDX-License-Identifier: BSD-3-Clause
// An estimate of what simulate() would say, from the programs of one node's ranks alone: for schedules that are too
// large to be simulated while somebody waits. What the ranks of a node share is taken to be shared equally by those
// that use it, and what comes from elsewhere is taken to come as what this node sends: all nodes do alike.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "algos/select/machine.hpp"
#include "algos/select/selection.hpp"
#include "topology/layout.hpp"

#include <span>

namespace stoker::algos {

struct Estimate {
  double seconds = 0;
  // What the estimate of an all-to-all adds for the risk that its ranks run who post their receives bit by bit. Where
  // copying a message that came before its receive was posted takes longer than its share of a port, a rank that is
  // late once stays behind: more of its messages come early, and each makes it later. In simulations with ranks late by
  // 1 us direct exchanges of 8 KiB take up to three times as long, the sooner the fewer receives they post at a time;
  // small differences between ranks can do the same. It is a share of those copies for each halving of the receives
  // that are posted at first, and 0 where none is posted at first.
  double seconds_at_risk = 0;
};

// `node`: the programs of the ranks of one node, in their order.
[[nodiscard]] Estimate estimated(std::span<const Program> node, const topology::Layout& layout, const Machine& machine,
                                 Driver driver);

// What the busiest of the node's ranks, ports and domains has to do, whatever waits for what: simulate() says no less.
[[nodiscard]] double least_seconds(std::span<const Program> node, const topology::Layout& layout,
                                   const Machine& machine, Driver driver);

} // namespace stoker::algos
