// SPDX-License-Identifier: BSD-3-Clause
#include "topology/node.hpp"

#include <algorithm>
#include <map>

namespace stoker::topology {

namespace {

// The NUMA domain of each rank. Ranks whose bindings cover the same domains share these in consecutive runs.
std::vector<LogicalIndex> numa_of_ranks(const Machine& machine, std::span<const NodeRank> ranks) {
  std::map<std::vector<LogicalIndex>, std::vector<std::size_t>> classes; // domains covered -> positions in ranks
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::vector<LogicalIndex> covered;
    for (const NumaDomain& domain : machine.numa_domains()) {
      if (domain.cpus.intersects(ranks[i].binding)) {
        covered.push_back(domain.index);
      }
    }
    if (covered.empty()) {
      throw TopologyError("rank " + std::to_string(ranks[i].rank) + " runs on CPUs " + ranks[i].binding.to_string() +
                          ", none of which this machine has (" + machine.description() + ")");
    }
    classes[covered].push_back(i);
  }
  std::vector<LogicalIndex> numa(ranks.size());
  for (const auto& [covered, members] : classes) {
    for (std::size_t k = 0; k < members.size(); ++k) {
      numa[members[k]] = covered[k * covered.size() / members.size()];
    }
  }
  return numa;
}

} // namespace

std::vector<NodeDomain> assign_domains(const Machine& machine, std::span<const NodeRank> ranks, DomainKind kind,
                                       int threads_per_domain) {
  if (threads_per_domain < 1) {
    throw TopologyError("threads_per_domain is " + std::to_string(threads_per_domain) + ", expected at least 1");
  }
  std::map<LogicalIndex, std::vector<int>> members;
  const std::vector<LogicalIndex> numa = numa_of_ranks(machine, ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    members[kind == DomainKind::node ? numa.front() : numa[i]].push_back(ranks[i].rank);
  }

  std::vector<NodeDomain> domains;
  for (const auto& [home, all] : members) {
    const std::size_t parts = std::min(all.size(), static_cast<std::size_t>(threads_per_domain));
    for (std::size_t part = 0; part < parts; ++part) {
      const auto begin = static_cast<std::ptrdiff_t>(part * all.size() / parts);
      const auto end = static_cast<std::ptrdiff_t>((part + 1) * all.size() / parts);
      domains.push_back({home, {all.begin() + begin, all.begin() + end}});
    }
  }
  std::sort(domains.begin(), domains.end(),
            [](const NodeDomain& a, const NodeDomain& b) { return a.ranks.front() < b.ranks.front(); });
  return domains;
}

} // namespace stoker::topology
