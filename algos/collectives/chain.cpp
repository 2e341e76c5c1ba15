// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/chain.hpp"

#include <algorithm>

namespace stoker::algos {

namespace {

constexpr std::uint64_t most_segments = 256;

} // namespace

Chain chain_of(const DistributedVector& vector) {
  const topology::Layout& layout = vector.layout;
  std::vector<int> order{vector.root};
  for (int i = 0; i < layout.nodes(); ++i) {
    for (const int rank : layout.node_ranks((layout.node_of(vector.root) + i) % layout.nodes())) {
      if (rank != vector.root) {
        order.push_back(rank);
      }
    }
  }
  const auto me = std::ranges::find(order, vector.rank);
  return {.before = me == order.begin() ? -1 : *(me - 1), .behind = me + 1 == order.end() ? -1 : *(me + 1)};
}

std::size_t segments_of(const DistributedVector& vector, const Tuning& tuning, std::size_t links) {
  const auto fixed = static_cast<std::uint64_t>(tuning.fixed_bytes);
  const std::uint64_t wanted = fixed != 0 ? (vector.sizes.front() + fixed - 1) / fixed : 4 * links;
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(wanted, 1, most_segments));
}

} // namespace stoker::algos
