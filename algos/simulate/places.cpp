// SPDX-License-Identifier: BSD-3-Clause
#include "algos/simulate/places.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace stoker::algos {

Places::Places(const topology::Layout& layout, const Machine& machine, int helpers_per_node)
    : nodes_(static_cast<std::uint32_t>(layout.nodes())), domains_(static_cast<std::uint32_t>(layout.domains())),
      nodes_per_switch_(static_cast<std::uint32_t>(std::max(1, machine.network.nodes_per_switch))) {
  switches_ = (nodes_ + nodes_per_switch_ - 1) / nodes_per_switch_;
  const auto ranks = static_cast<std::size_t>(layout.ranks());
  for (auto* table : {&node_, &domain_, &socket_, &port_, &helper_}) {
    table->resize(ranks);
  }
  const int ports = std::max(1, machine.ports);
  for (int node = 0; node < layout.nodes(); ++node) {
    std::vector<int> domains;
    for (const int rank : layout.node_ranks(node)) {
      domains.push_back(layout.domain_of(rank));
    }
    std::ranges::sort(domains);
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    const int count = static_cast<int>(domains.size());
    if (helpers_per_node < 1 || helpers_per_node > count) {
      throw std::invalid_argument(std::to_string(helpers_per_node) + " helpers on each node; expected 1 to " +
                                  std::to_string(count) + ", as node " + std::to_string(node) +
                                  " has that many domains");
    }
    const auto first_helper = static_cast<std::uint32_t>(carrier_.size());
    carrier_.resize(carrier_.size() + static_cast<std::size_t>(helpers_per_node), ~0U);
    for (const int rank : layout.node_ranks(node)) {
      const auto r = static_cast<std::size_t>(rank);
      const auto domain = static_cast<int>(std::ranges::lower_bound(domains, layout.domain_of(rank)) - domains.begin());
      const int sockets = std::clamp(machine.sockets_per_node, 1, count);
      node_[r] = static_cast<std::uint32_t>(node);
      domain_[r] = static_cast<std::uint32_t>(layout.domain_of(rank));
      socket_[r] = static_cast<std::uint32_t>(domain * sockets / count);
      port_[r] = static_cast<std::uint32_t>((node * ports) + (layout.local_index(rank) % ports));
      helper_[r] = first_helper + static_cast<std::uint32_t>(domain * helpers_per_node / count);
      carrier_[helper_[r]] = std::min(carrier_[helper_[r]], static_cast<std::uint32_t>(rank));
    }
  }
}

double fence_seconds(const Places& places, const Machine& machine) {
  Distance farthest = Distance::domain;
  for (std::uint32_t rank = 1; rank < places.ranks(); ++rank) {
    farthest = std::max(farthest, places.distance(0, rank));
  }
  const MessageCost& cost = machine.at(farthest);
  return std::ceil(std::log2(places.ranks())) * (cost.send_overhead + cost.latency + cost.receive_overhead);
}

} // namespace stoker::algos
