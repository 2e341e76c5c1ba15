// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/chain.hpp"

#include <algorithm>

namespace stoker::algos {

namespace {

constexpr std::uint64_t most_segments = 256;

} // namespace

Chain chain_of(const VectorCall& call) {
  const topology::Layout& layout = call.layout;
  std::vector<int> order{call.root};
  for (int i = 0; i < layout.nodes(); ++i) {
    for (const int rank : layout.node_ranks((layout.node_of(call.root) + i) % layout.nodes())) {
      if (rank != call.root) {
        order.push_back(rank);
      }
    }
  }
  const auto me = std::ranges::find(order, call.rank);
  return {.before = me == order.begin() ? -1 : *(me - 1), .behind = me + 1 == order.end() ? -1 : *(me + 1)};
}

std::size_t segments_of(const VectorCall& call, const Tuning& tuning) {
  const auto fixed = static_cast<std::uint64_t>(tuning.fixed_bytes);
  const std::uint64_t wanted =
      fixed != 0 ? (call.sizes.front() + fixed - 1) / fixed : 4 * (static_cast<std::uint64_t>(call.layout.ranks()) - 1);
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(wanted, 1, most_segments));
}

} // namespace stoker::algos
