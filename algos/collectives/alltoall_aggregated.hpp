// SPDX-License-Identifier: BSD-3-Clause
// The aggregating all-to-alls of the literature as one algorithm: they differ in who collects, and in where the blocks of
// several ranks change into the messages of a node.
#pragma once

#include "algos/collectives/exchange.hpp"
#include "algos/collectives/group_exchange.hpp"
#include "algos/collectives/teams.hpp"

namespace stoker::algos {

// Every rank belongs to a group, whose first rank is its leader; every group to a region of its node. A leader collects
// what its group sends to other regions; leaders with the same index in their regions exchange, so that one message goes
// between two regions for each index; the leaders of a region pass on what is another group's; leaders hand out.
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
  // Whether blocks first move to the leader that has the index of their target's leader, and then between regions (as in
  // two-layer tunable radix), or the other way round.
  bool within_first = false;
  FlatExchange between; // leaders of different regions
  FlatExchange within;  // leaders of one region
};

[[nodiscard]] Program compile_aggregated(const Exchange& exchange, const Aggregation& how);

} // namespace stoker::algos
