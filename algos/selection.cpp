// SPDX-License-Identifier: BSD-3-Clause
// The default choice of an algorithm.
#include "algos/selection.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

namespace stoker::algos {

namespace {

// Aggregation saves messages between nodes and pays with two more copies of every byte, so it is for blocks whose
// cost is the message and not its bytes. 1 KiB is the literature's order of magnitude, not a measurement on this machine.
constexpr std::array rules = {
    SelectionRule{.max_bytes = 1024, .min_nodes = 2, .shared_nodes = true, .algorithm = "hierarchical"},
    SelectionRule{.algorithm = "nonblocking"},
};

bool applies(const SelectionRule& rule, const topology::Layout& layout, std::uint64_t bytes) {
  return bytes <= rule.max_bytes && layout.nodes() >= rule.min_nodes &&
         (!rule.shared_nodes || layout.ranks() > layout.nodes());
}

} // namespace

std::span<const SelectionRule> selection_rules() { return rules; }

std::string selection_text() {
  std::string text;
  for (const SelectionRule& rule : rules) {
    std::string when;
    const auto add = [&](const std::string& condition) { when += (when.empty() ? "" : ", ") + condition; };
    if (rule.max_bytes != std::numeric_limits<std::uint64_t>::max()) {
      add("blocks of at most " + std::to_string(rule.max_bytes) + " B");
    }
    if (rule.min_nodes > 1) {
      add(std::to_string(rule.min_nodes) + " nodes or more");
    }
    if (rule.shared_nodes) {
      add("more ranks than nodes");
    }
    text += std::string(rule.algorithm) + ": " + (when.empty() ? "otherwise" : when) + "\n";
  }
  return text;
}

Choice select(Collective collective, const topology::Layout& layout, std::uint64_t bytes) {
  for (const SelectionRule& rule : rules) {
    if (applies(rule, layout, bytes)) {
      return resolve(parse_choice(collective, rule.algorithm), layout);
    }
  }
  throw std::logic_error("no algorithm for " + std::string(name_of(collective)));
}

NeighborTraffic neighbor_traffic(const topology::Layout& layout, int rank, std::span<const NeighborBlock> outgoing) {
  NeighborTraffic traffic;
  std::map<int, std::uint64_t> parcels; // by node
  for (const NeighborBlock& block : outgoing) {
    if (block.bytes > 0 && !layout.same_node(rank, block.peer)) {
      ++traffic.blocks;
      traffic.bytes += block.bytes;
      std::uint64_t& parcel = parcels[layout.node_of(block.peer)];
      parcel = std::max(parcel, block.shared_offset + block.bytes);
    }
  }
  for (const auto& [node, bytes] : parcels) {
    traffic.shared_bytes += bytes;
  }
  return traffic;
}

Choice select_neighbor(Collective collective, const topology::Layout& layout, const NeighborTraffic& traffic) {
  // Two more hops within the nodes are worth it where they spare a quarter of the bytes between them.
  const bool duplicates = traffic.shared_bytes < traffic.bytes - traffic.bytes / 4;
  return resolve(parse_choice(collective, duplicates ? "locality-aware" : "nonblocking"), layout);
}

} // namespace stoker::algos
