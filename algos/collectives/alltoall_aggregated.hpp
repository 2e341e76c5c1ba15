// SPDX-License-Identifier: BSD-3-Clause
// The aggregating all-to-alls of the literature as one algorithm. They differ in which ranks collect, and in where the
// blocks of several ranks become messages of a node.
#pragma once

#include "algos/collectives/exchange.hpp"
#include "algos/collectives/group_exchange.hpp"
#include "algos/collectives/teams.hpp"

namespace stoker::algos {

// Every rank belongs to a group, whose first rank is its leader. Every group belongs to a region of its node. A leader
// collects the blocks that its group sends to other regions. Leaders with the same index in their regions exchange, so
// that one message goes between two regions for each index. The leaders of a region pass on blocks of other groups, and
// then hand out their own group's.
//
//   groups per node    regions per node    is
//   1                  (the same)          hierarchical
//   L                  one for each group  multi-leader
//   one for each rank  1                   node-aware
//   one for each rank  G                   locality-aware
//   L                  1                   multi-leader + node-aware
struct Aggregation {
  Parts groups;
  Parts regions;
  // Whether blocks first move to the leader with the index of their target's leader, and then between regions (as in
  // two-layer tunable radix), or in the other order.
  bool within_first = false;
  FlatExchange between; // leaders of different regions
  FlatExchange within;  // leaders of one region
};

[[nodiscard]] Program compile_aggregated(const Exchange& exchange, const Aggregation& how);

} // namespace stoker::algos
