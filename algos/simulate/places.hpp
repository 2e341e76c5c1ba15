// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks are on a machine: what a layout says, with the sockets and switches that the machine adds.
#pragma once

#include "algos/select/machine.hpp"
#include "topology/layout.hpp"

#include <cstdint>
#include <vector>

namespace stoker::algos {

class Places {
public:
  // Throws std::invalid_argument where a node's domains cannot be shared out to so many helpers.
  Places(const topology::Layout& layout, const Machine& machine, int helpers_per_node);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(node_.size()); }
  [[nodiscard]] std::uint32_t nodes() const { return nodes_; }
  [[nodiscard]] std::uint32_t domains() const { return domains_; }
  [[nodiscard]] std::uint32_t switches() const { return switches_; }
  [[nodiscard]] std::uint32_t helpers() const { return static_cast<std::uint32_t>(carrier_.size()); }

  [[nodiscard]] std::uint32_t node(std::uint32_t rank) const { return node_[rank]; }
  [[nodiscard]] std::uint32_t domain(std::uint32_t rank) const { return domain_[rank]; }
  [[nodiscard]] std::uint32_t port(std::uint32_t rank) const { return port_[rank]; } // of all nodes' ports
  [[nodiscard]] std::uint32_t switch_of(std::uint32_t rank) const { return node_[rank] / nodes_per_switch_; }
  [[nodiscard]] std::uint32_t helper(std::uint32_t rank) const { return helper_[rank]; }
  [[nodiscard]] std::uint32_t carrier(std::uint32_t helper) const { return carrier_[helper]; } // a rank

  [[nodiscard]] Distance distance(std::uint32_t a, std::uint32_t b) const {
    if (node_[a] != node_[b]) {
      return switch_of(a) == switch_of(b) ? Distance::switched : Distance::network;
    }
    return domain_[a] == domain_[b] ? Distance::domain : socket_[a] == socket_[b] ? Distance::socket : Distance::node;
  }

private:
  std::uint32_t nodes_ = 0, domains_ = 0, switches_ = 0, nodes_per_switch_ = 1;
  std::vector<std::uint32_t> node_, domain_, socket_, port_, helper_; // by rank
  std::vector<std::uint32_t> carrier_;                                // by helper
};

// The seconds of a fence: a barrier in which each rank tells twice as many as before.
[[nodiscard]] double fence_seconds(const Places& places, const Machine& machine);

} // namespace stoker::algos
