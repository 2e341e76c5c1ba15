// SPDX-License-Identifier: BSD-3-Clause
// Finds out where the ranks of a communicator sit. Nodes come from MPI, NUMA domains from hwloc and each rank's
// binding.
#pragma once

#include "topology/layout.hpp"
#include "topology/machine.hpp"
#include "topology/node.hpp"

#include <mpi.h>

#include <string>
#include <vector>

namespace stoker::topology {

struct DiscoverOptions {
  std::string machine = ""; // what the Machine was made from
  int ranks_per_node = 0;   // >0: pretend that every so many consecutive ranks form a node
  DomainKind domains = DomainKind::numa;
  int threads_per_domain = 1; // each domain is cut into up to so many, by consecutive ranks; each gets a helper
};

struct Discovery {
  Layout layout;                    // of comm, equal on all ranks
  std::vector<NodeRank> node_ranks; // this rank's node, ascending
  std::vector<int> domain_numa;     // per domain of this rank's node, in the order of their number: LogicalIndex

  // The domains of this rank's node, in the order of their number: what reserve() asks for.
  [[nodiscard]] std::vector<NodeDomain> node_domains() const;
  // Where the helper and the staging memory of a rank of this node belong.
  [[nodiscard]] LogicalIndex numa_of(int rank) const;
};

// Collective over comm. Throws TopologyError on every rank when it fails on one.
[[nodiscard]] Discovery discover(MPI_Comm comm, const Machine& machine, const DiscoverOptions& options);

} // namespace stoker::topology
