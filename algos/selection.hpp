// SPDX-License-Identifier: BSD-3-Clause
// The default choice of an algorithm as a table: the first row that matches wins. A row reads facts that are the same on
// every rank of the communicator and nothing else, so all ranks choose alike.
#pragma once

#include "algos/choice.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace stoker::algos {

struct SelectionRule {
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max(); // mean block size, this included
  int min_nodes = 1;
  bool shared_nodes = false; // only where some node holds more than one rank
  std::string_view algorithm;
};

[[nodiscard]] std::span<const SelectionRule> selection_rules();
// The table for help texts, a line a rule.
[[nodiscard]] std::string selection_text();

// The default for this layout and block size, resolved; equal on all ranks: it reads nothing that differs between them.
// `bytes` is the mean block size over the whole communicator.
[[nodiscard]] Choice select(Collective collective, const topology::Layout& layout, std::uint64_t bytes);

// What a neighborhood exchange moves between nodes.
struct NeighborTraffic {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t shared_bytes = 0; // of them, each byte once per node that needs it
};
[[nodiscard]] NeighborTraffic neighbor_traffic(const topology::Layout& layout, int rank,
                                               std::span<const NeighborBlock> outgoing);
// The default for a neighborhood collective. `traffic` is the sum over all ranks.
[[nodiscard]] Choice select_neighbor(Collective collective, const topology::Layout& layout,
                                     const NeighborTraffic& traffic);

} // namespace stoker::algos
