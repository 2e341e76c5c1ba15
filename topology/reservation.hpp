// SPDX-License-Identifier: BSD-3-Clause
// Decides where the helpers of one node run. Pure: it reads bindings and changes none, and every rank of the node gets
// the same answer from the same input.
#pragma once

#include "topology/machine.hpp"
#include "topology/node.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::topology {

enum class ReserveMode {
  automatic, // a core that no rank may run on, nearest to the domain; where there is none, share and say so
  none,      // share the domain's CPUs with its ranks
  smt,       // the idle hardware thread beside a rank of the domain
  list,      // these CPUs
  per_numa,  // `count` free cores in every NUMA domain that has ranks
};

struct Reservation {
  ReserveMode mode = ReserveMode::automatic;
  CpuSet cores;             // list: OS indexes of CPUs
  int count = 0;            // per_numa
  bool best_effort = false; // share instead of failing when the request cannot be had

  // "auto", "none", "smt", "list:2,3", "list:2-5" or "per-numa:2". Throws TopologyError that says what is accepted.
  [[nodiscard]] static Reservation parse(std::string_view text, bool best_effort = false);
};

struct HelperPlace {
  CpuSet cpus;                  // bind the helper to these
  std::optional<OsIndex> core;  // the CPU, when it is a single one
  bool reserved = false;        // no rank of this node may run on `cpus`
  std::vector<int> shared_with; // the ranks that may, ascending
  std::string explanation;      // one line, for humans
};

// Returns one place per domain, in their order. A helper is only placed where its carrier's process may run. Throws
// TopologyError when the request cannot be met; the text says why, and what would work. Never throws for automatic and
// none, nor with best effort.
[[nodiscard]] std::vector<HelperPlace> reserve(const Machine& machine, std::span<const NodeRank> ranks,
                                               std::span<const NodeDomain> domains, const Reservation& reservation);

} // namespace stoker::topology
