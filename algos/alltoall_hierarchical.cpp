// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical all-to-all with one leader per node (Kinkead et al., "Scaling All-to-all Operations Across Emerging
// Many-Core Supercomputers", 2025, Algorithm 3; Traeff and Rougier, 2014): only leaders send between nodes, one message
// for each other node. Three things differ from the literature's gather, all-to-all, scatter:
//
// - Ranks of one node exchange their blocks directly. Through the leader they would be copied twice.
// - A member's blocks go to its leader in one message for each destination node, and come from it in one for each source
//   node. So the leader's message to a node starts as soon as that node's blocks are there, and what a node has sent is
//   handed on while others are still on their way.
// - Nothing is repacked. A message between nodes is one contiguous piece of the leader's scratch, ordered by source and,
//   for each source, by target. What a member contributes is contiguous in it; what a member is due is one block for
//   each source, evenly spaced when block sizes are uniform, and sent on from where it lies. Source first, because then
//   it is the reads that are spread over scratch and the writes that are contiguous.
//
// Where a message has no other contributor, or no other target, than the leader, it leaves from sendbuf, or arrives in
// recvbuf, without the detour. Empty messages are left out everywhere.
//
// In place, a block arrives where the block for the same peer left (MPI demands equal sizes), so a rank's receive from a
// node waits until its blocks for that node have gone: a member's to its leader, which takes them at any time, the
// leader's to scratch. The leader may not wait for a message to another leader instead: each could wait for the other.
#include "algos/algorithms.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace stoker::algos {

namespace {

std::uint64_t total(std::span<const Slice> slices) {
  std::uint64_t bytes = 0;
  for (const Slice& slice : slices) {
    bytes += slice.bytes();
  }
  return bytes;
}

class Hierarchical {
public:
  explicit Hierarchical(const Exchange& exchange)
      : exchange_(exchange), layout_(exchange.layout), node_(layout_.node_of(exchange.rank)),
        builder_(exchange.rank, layout_.ranks(), exchange.send_bytes(), exchange.recv_bytes()),
        departed_(static_cast<std::size_t>(layout_.nodes())) {}

  Program compile() && {
    const bool leader = layout_.node_leader(node_) == exchange_.rank;
    // Both sides of every pair go through the nodes in this order, and do the node's own exchange last.
    for (int i = 1; i < layout_.nodes(); ++i) {
      const int node = (node_ + i) % layout_.nodes();
      leader ? gather(node) : contribute(node);
    }
    for (int i = 1; i < layout_.nodes(); ++i) {
      const int node = (node_ + layout_.nodes() - i) % layout_.nodes();
      leader ? scatter(node) : collect(node);
    }
    append_nonblocking(builder_, exchange_, layout_.node_ranks(node_));
    return std::move(builder_).finish();
  }

private:
  // A member's part.
  void contribute(int node) {
    if (const auto blocks = outgoing(node); total(blocks) > 0) {
      departed_[node] = builder_.send(layout_.node_leader(node_), blocks);
    }
  }

  void collect(int node) {
    if (const auto blocks = incoming(node); total(blocks) > 0) {
      builder_.recv(layout_.node_leader(node_), blocks, arrival_waits_for(node));
    }
  }

  // The leader's part: what all ranks here have for `node`, as one message.
  void gather(int node) {
    const auto sources = layout_.node_ranks(node_);
    const auto own = outgoing(node);
    std::vector<std::uint64_t> parts; // bytes from each source
    for (const int source : sources) {
      parts.push_back(bytes(source, node));
    }
    const std::uint64_t message = sum(parts);
    if (message == 0) {
      return;
    }
    if (message == total(own) && !exchange_.in_place) {
      builder_.send(layout_.node_leader(node), own);
      return;
    }
    const std::uint64_t start = builder_.scratch(message);
    std::uint64_t offset = start;
    std::vector<StepId> arrivals;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      const Slice place{Buffer::scratch, offset, parts[s]};
      offset += parts[s];
      if (parts[s] == 0) {
        continue;
      }
      if (sources[s] == exchange_.rank) {
        departed_[node] = builder_.copy({&place, 1}, own);
        arrivals.push_back(*departed_[node]);
      } else {
        arrivals.push_back(builder_.recv(sources[s], place));
      }
    }
    builder_.send(layout_.node_leader(node), Slice{Buffer::scratch, start, message}, arrivals);
  }

  // The leader's part: what `node` has for all ranks here, from one message.
  void scatter(int node) {
    const auto sources = layout_.node_ranks(node);
    const auto targets = layout_.node_ranks(node_);
    const auto own = incoming(node);
    std::uint64_t message = 0;
    for (const int source : sources) {
      message += bytes(source, node_);
    }
    if (message == 0) {
      return;
    }
    if (message == total(own)) {
      builder_.recv(layout_.node_leader(node), own, arrival_waits_for(node));
      return;
    }
    const std::uint64_t start = builder_.scratch(message);
    const StepId arrival = builder_.recv(layout_.node_leader(node), Slice{Buffer::scratch, start, message});
    // The blocks for each target, one from each source.
    std::vector<std::vector<Slice>> parts(targets.size());
    std::uint64_t offset = start;
    for (const int source : sources) {
      for (std::size_t t = 0; t < targets.size(); ++t) {
        const std::uint64_t length = exchange_.sizes(source, targets[t]);
        parts[t].push_back({Buffer::scratch, offset, length});
        offset += length;
      }
    }
    for (std::size_t t = 0; t < targets.size(); ++t) {
      if (total(parts[t]) == 0) {
        continue;
      }
      std::vector<StepId> after{arrival};
      if (targets[t] == exchange_.rank) {
        const auto departure = arrival_waits_for(node);
        after.insert(after.end(), departure.begin(), departure.end());
        builder_.copy(own, parts[t], after);
      } else {
        builder_.send(targets[t], parts[t], after);
      }
    }
  }

  // This rank's blocks for, and from, the ranks of `node`.
  [[nodiscard]] std::vector<Slice> outgoing(int node) const {
    std::vector<Slice> blocks;
    for (const int peer : layout_.node_ranks(node)) {
      blocks.push_back(exchange_.outgoing(peer));
    }
    return blocks;
  }

  [[nodiscard]] std::vector<Slice> incoming(int node) const {
    std::vector<Slice> blocks;
    for (const int peer : layout_.node_ranks(node)) {
      blocks.push_back(exchange_.incoming(peer));
    }
    return blocks;
  }

  // What `source` sends to all ranks of `node`.
  [[nodiscard]] std::uint64_t bytes(int source, int node) const {
    std::uint64_t bytes = 0;
    for (const int target : layout_.node_ranks(node)) {
      bytes += exchange_.sizes(source, target);
    }
    return bytes;
  }

  [[nodiscard]] static std::uint64_t sum(std::span<const std::uint64_t> parts) {
    std::uint64_t bytes = 0;
    for (const std::uint64_t part : parts) {
      bytes += part;
    }
    return bytes;
  }

  // In place, the step after which this rank's blocks for `node` are out of the way of those that come from it.
  [[nodiscard]] std::vector<StepId> arrival_waits_for(int node) const {
    return exchange_.in_place && departed_[node] ? std::vector{*departed_[node]} : std::vector<StepId>{};
  }

  const Exchange& exchange_;
  const topology::Layout& layout_;
  int node_;
  Builder builder_;
  // By node: the step that takes this rank's blocks for it out of its buffer.
  std::vector<std::optional<StepId>> departed_;
};

} // namespace

Program compile_hierarchical(const Exchange& exchange) { return Hierarchical(exchange).compile(); }

} // namespace stoker::algos
