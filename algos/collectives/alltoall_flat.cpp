// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls that do not distinguish nodes: one flat exchange among all ranks. group_exchange.cpp names the sources.
#include "algos/collectives/alltoall_flat.hpp"

#include "algos/collectives/ends.hpp"

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace stoker::algos {

namespace {

std::vector<int> all_ranks(const Exchange& exchange) {
  std::vector<int> ranks(static_cast<std::size_t>(exchange.layout.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

} // namespace

Program compile_flat(const Exchange& exchange, FlatExchange how) {
  Builder builder(exchange.rank, exchange.layout.ranks(), exchange.send_bytes(), exchange.recv_bytes());
  // Direct messages need not wait for each other's blocks; bundles are contiguous where the blocks are.
  Ends ends(builder, exchange, how.forwards() ? Ends::SetAside::together : Ends::SetAside::each);
  const std::vector<int> ranks = all_ranks(exchange);
  append_flat(builder, ends.among(ranks), how);
  ends.copy_own();
  return std::move(builder).finish();
}

// Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997.
Program compile_bruck(const Exchange& exchange) {
  Builder builder(exchange.rank, exchange.layout.ranks(), exchange.send_bytes(), exchange.recv_bytes());
  const std::vector<int> ranks = all_ranks(exchange);
  const std::size_t n = ranks.size();
  const auto rank = static_cast<std::size_t>(exchange.rank);
  GroupExchange group;
  group.members = ranks;
  group.me = rank;
  group.outgoing.resize(n);
  group.incoming.resize(n);
  group.bytes = [&](std::size_t a, std::size_t b) { return exchange.sizes(ranks[a], ranks[b]); };

  // First rotation: scratch holds the blocks in the order of their distance, one's own first.
  Part blocks;
  for (std::size_t distance = 0; distance < n; ++distance) {
    blocks.add(exchange.outgoing(ranks[(rank + distance) % n]));
  }
  const Slice rotated{Buffer::scratch, builder.scratch(blocks.bytes()), blocks.bytes()};
  std::optional<StepId> rotation;
  if (rotated.length > 0) {
    rotation = builder.copy({&rotated, 1}, blocks.slices);
  }
  std::uint64_t place = rotated.offset;
  Part own;
  for (std::size_t distance = 0; distance < n; ++distance) {
    const std::size_t peer = (rank + distance) % n;
    const std::uint64_t size = exchange.outgoing(ranks[peer]).length;
    Part& part = distance == 0 ? own : group.outgoing[peer];
    part.add({Buffer::scratch, place, size});
    if (rotation) {
      part.after.push_back(*rotation);
    }
    place += size;
  }

  // Blocks arrive in the order of their distance, too, and the last rotation puts them into that of their sources.
  Part ends;
  Part arrived = own;
  for (std::size_t distance = 0; distance < n; ++distance) {
    const std::size_t peer = (rank + n - distance) % n;
    const Slice end = exchange.incoming(ranks[peer]);
    ends.add(end);
    if (distance > 0 && end.length > 0) {
      const Slice slot{Buffer::scratch, builder.scratch(end.length), end.length};
      group.incoming[peer].add(slot);
      arrived.add(slot);
    }
  }
  const Arrivals arrivals = append_radix(builder, group, 2);
  for (const auto& arrival : arrivals) {
    if (arrival) {
      arrived.after.push_back(*arrival);
    }
  }
  if (!ends.slices.empty()) {
    builder.copy(ends.slices, arrived.slices, arrived.after);
  }
  return std::move(builder).finish();
}

} // namespace stoker::algos
