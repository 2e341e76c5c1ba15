// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one node: where each may run, and which of them form a domain. Pure: every rank of the node computes the
// same from the same bindings.
#pragma once

#include "topology/machine.hpp"

#include <span>
#include <vector>

namespace stoker::topology {

enum class DomainKind { numa, node };

// One rank of this rank's node, as it described itself to the others.
struct NodeRank {
  int rank = 0;       // in comm
  CpuSet binding;     // where its process may run
  bool bound = false; // narrower than `allowed`
  CpuSet allowed;     // where its process could be bound to: its cgroup, container or job
};

// The ranks that one helper serves.
struct NodeDomain {
  LogicalIndex numa;      // where its helper and its staging memory belong
  std::vector<int> ranks; // ascending; the first one is the carrier
};

// Cuts a node's ranks (ascending) into domains, in the order of their lowest ranks. A rank bound inside one NUMA domain
// belongs to it. Ranks whose bindings cover the same several NUMA domains are spread evenly over those, in consecutive
// runs. Each domain is then cut into up to `threads_per_domain` ones. With DomainKind::node the whole node counts as
// one domain at the place of its lowest rank.
[[nodiscard]] std::vector<NodeDomain> assign_domains(const Machine& machine, std::span<const NodeRank> ranks,
                                                     DomainKind kind, int threads_per_domain);

} // namespace stoker::topology
