// SPDX-License-Identifier: BSD-3-Clause
// Neighborhood all-to-alls. The locality-aware one is the three-step exchange of Collom, Li and Bienz, "Optimizing
// irregular communication with neighborhood collectives and locality-aware parallelism", 2023. What differs:
//
// - Data are recognised as duplicate by their place in sendbuf, so the arguments of MPI's own call are enough.
// - The rank with the most to send to another node, or to receive from there, acts for its node. Both nodes know what
//   goes between them, and come to the same answer. If only one rank sends and one receives, that is a direct message.
#include "algos/collectives/neighbor_alltoall.hpp"

#include "algos/collectives/group_exchange.hpp"
#include "algos/schedule/builder.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stoker::algos {

namespace {

// One block from a rank of one node to a rank of another one.
struct CrossingEdge {
  int source;
  int target;
  NeighborBlock block; // the target's view where that rank is on this node, else the source's
};

// All blocks that go from one node to another one, ordered by source. Both nodes see the same list, except for the
// order of the blocks of one source, on which neither relies.
struct Shipment {
  std::vector<CrossingEdge> crossings;
  std::map<int, std::uint64_t> parcels; // by source: bytes that it has for that node, each once
  int sender = -1;                      // who sends them all to
  int receiver = -1;
};

// The rank with the most bytes. If several have as many: the next one from a place that differs between pairs of nodes.
int busiest(std::span<const int> ranks, int other_node, const std::map<int, std::uint64_t>& bytes) {
  int best = -1;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = ranks[(i + static_cast<std::size_t>(other_node)) % ranks.size()];
    if (const auto found = bytes.find(rank); found != bytes.end() && found->second > most) {
      most = found->second;
      best = rank;
    }
  }
  return best;
}

class LocalityAware {
public:
  explicit LocalityAware(const NeighborExchange& exchange)
      : exchange_(exchange), layout_(exchange.layout), node_(layout_.node_of(exchange.rank)),
        ranks_(layout_.node_ranks(node_)),
        builder_(exchange.rank, layout_.ranks(), exchange.send_bytes(), exchange.recv_bytes()) {}

  Program compile() && {
    auto [departing, arriving] = shipments();
    // All ranks of a node go through the other nodes in the same order, so that messages within the node match.
    const int nodes = layout_.nodes();
    for (int i = 1; i < nodes; ++i) {
      if (const auto found = departing.find((node_ + i) % nodes); found != departing.end()) {
        dispatch(found->first, found->second);
      }
    }
    for (int i = 1; i < nodes; ++i) {
      if (const auto found = arriving.find((node_ + nodes - i) % nodes); found != arriving.end()) {
        distribute(found->second);
      }
    }
    exchange_within();
    return std::move(builder_).finish();
  }

private:
  using Shipments = std::map<int, Shipment>; // by the other node

  // The shipments from this node, and to it.
  [[nodiscard]] std::pair<Shipments, Shipments> shipments() const {
    Shipments departing;
    Shipments arriving;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const int rank = ranks_[i];
      for (const NeighborBlock& block : exchange_.node[i].outgoing) {
        add(departing, {rank, block.peer, block}, block.peer);
      }
      for (const NeighborBlock& block : exchange_.node[i].incoming) {
        add(arriving, {block.peer, rank, block}, block.peer);
      }
    }
    for (auto& [node, shipment] : departing) {
      complete(shipment, node_, node);
    }
    for (auto& [node, shipment] : arriving) {
      complete(shipment, node, node_);
    }
    return {std::move(departing), std::move(arriving)};
  }

  void add(Shipments& shipments, const CrossingEdge& crossing, int peer) const {
    if (crossing.block.bytes > 0 && layout_.node_of(peer) != node_) {
      shipments[layout_.node_of(peer)].crossings.push_back(crossing);
    }
  }

  void complete(Shipment& shipment, int from, int to) const {
    std::ranges::stable_sort(shipment.crossings, {}, &CrossingEdge::source);
    std::map<int, std::uint64_t> received;
    for (const CrossingEdge& crossing : shipment.crossings) {
      std::uint64_t& parcel = shipment.parcels[crossing.source];
      parcel = std::max(parcel, crossing.block.shared_offset + crossing.block.bytes);
      received[crossing.target] += crossing.block.bytes;
    }
    shipment.sender = busiest(layout_.node_ranks(from), to, shipment.parcels);
    shipment.receiver = busiest(layout_.node_ranks(to), from, received);
  }

  // This rank's parcel for a node, in sendbuf.
  [[nodiscard]] Part own_parcel(int node) const {
    std::vector<NeighborBlock> blocks;
    for (const NeighborBlock& block : exchange_.own.outgoing) {
      if (block.bytes > 0 && layout_.node_of(block.peer) == node) {
        blocks.push_back(block);
      }
    }
    std::ranges::sort(blocks, {}, &NeighborBlock::shared_offset);
    Part parcel;
    std::uint64_t covered = 0;
    for (const NeighborBlock& block : blocks) {
      const std::uint64_t begin = std::max(covered, block.shared_offset);
      const std::uint64_t end = block.shared_offset + block.bytes;
      if (end > begin) {
        parcel.add({Buffer::send, block.offset + (begin - block.shared_offset), end - begin});
        covered = end;
      }
    }
    return parcel;
  }

  // This rank's part in what its node sends to another one.
  void dispatch(int node, const Shipment& shipment) {
    if (shipment.sender != exchange_.rank) {
      if (shipment.parcels.contains(exchange_.rank)) {
        builder_.send(shipment.sender, own_parcel(node).slices);
      }
      return;
    }
    Part message;
    for (const auto& [source, bytes] : shipment.parcels) {
      if (source == exchange_.rank) {
        message.add(own_parcel(node));
        continue;
      }
      const Slice place{Buffer::scratch, builder_.scratch(bytes), bytes};
      const StepId received = builder_.recv(source, place);
      message.add({{place}, {received}});
    }
    builder_.send(shipment.receiver, message.slices, message.after);
  }

  // This rank's part in what its node receives from another one.
  void distribute(const Shipment& shipment) {
    if (shipment.receiver != exchange_.rank) {
      Part ends;
      for (const CrossingEdge& crossing : shipment.crossings) {
        if (crossing.target == exchange_.rank) {
          ends.add({Buffer::recv, crossing.block.offset, crossing.block.bytes});
        }
      }
      if (!ends.slices.empty()) {
        builder_.recv(shipment.receiver, ends.slices);
      }
      return;
    }
    Part message;
    std::map<int, std::uint64_t>
        places; // of parcels in scratch, by source; those that arrive where they belong are not there
    for (const auto& [source, bytes] : shipment.parcels) {
      if (const Part end = sole_end(shipment, source, bytes); !end.slices.empty()) {
        message.add(end);
        continue;
      }
      places[source] = builder_.scratch(bytes);
      message.add({Buffer::scratch, places[source], bytes});
    }
    const StepId arrived = builder_.recv(shipment.sender, message.slices);
    for (const int target : ranks_) {
      Part blocks;
      Part ends;
      for (const CrossingEdge& crossing : shipment.crossings) {
        if (const auto place = places.find(crossing.source); crossing.target == target && place != places.end()) {
          blocks.add({Buffer::scratch, place->second + crossing.block.shared_offset, crossing.block.bytes});
          ends.add({Buffer::recv, crossing.block.offset, crossing.block.bytes});
        }
      }
      if (blocks.slices.empty()) {
        continue;
      }
      if (target == exchange_.rank) {
        builder_.copy(ends.slices, blocks.slices, {&arrived, 1});
      } else {
        builder_.send(target, blocks.slices, {&arrived, 1});
      }
    }
  }

  // The place of a parcel in recvbuf if it holds blocks for this rank only, each byte of it in one; else nothing.
  [[nodiscard]] Part sole_end(const Shipment& shipment, int source, std::uint64_t bytes) const {
    std::vector<NeighborBlock> blocks;
    std::uint64_t sum = 0;
    for (const CrossingEdge& crossing : shipment.crossings) {
      if (crossing.source != source) {
        continue;
      }
      if (crossing.target != exchange_.rank) {
        return {};
      }
      blocks.push_back(crossing.block);
      sum += crossing.block.bytes;
    }
    Part end;
    if (sum == bytes) {
      std::ranges::sort(blocks, {}, &NeighborBlock::shared_offset);
      for (const NeighborBlock& block : blocks) {
        end.add({Buffer::recv, block.offset, block.bytes});
      }
    }
    return end;
  }

  // Sends all blocks from one rank to another directly, in one message.
  void exchange_within() {
    GroupExchange group;
    group.members = ranks_;
    group.me = static_cast<std::size_t>(layout_.local_index(exchange_.rank));
    group.outgoing.resize(ranks_.size());
    group.incoming.resize(ranks_.size());
    const auto bundle = [&](const std::vector<NeighborBlock>& blocks, Buffer buffer, std::vector<Part>& parts) {
      for (const NeighborBlock& block : blocks) {
        if (layout_.node_of(block.peer) == node_) {
          parts[static_cast<std::size_t>(layout_.local_index(block.peer))].add({buffer, block.offset, block.bytes});
        }
      }
    };
    bundle(exchange_.own.outgoing, Buffer::send, group.outgoing);
    bundle(exchange_.own.incoming, Buffer::recv, group.incoming);
    append_direct(builder_, group, ranks_.size());
    if (const Part& own = group.outgoing[group.me]; !own.slices.empty()) {
      builder_.copy(group.incoming[group.me].slices, own.slices);
    }
  }

  const NeighborExchange& exchange_;
  const topology::Layout& layout_;
  int node_;
  std::span<const int> ranks_; // of this node
  Builder builder_;
};

} // namespace

Program compile_neighbor_direct(const NeighborExchange& exchange) {
  Builder builder(exchange.rank, exchange.layout.ranks(), exchange.send_bytes(), exchange.recv_bytes());
  Part own_blocks;
  Part own_ends;
  for (const NeighborBlock& block : exchange.own.incoming) {
    const Slice end{Buffer::recv, block.offset, block.bytes};
    if (block.peer == exchange.rank) {
      own_ends.add(end);
    } else if (block.bytes > 0) {
      builder.recv(block.peer, end);
    }
  }
  for (const NeighborBlock& block : exchange.own.outgoing) {
    const Slice place{Buffer::send, block.offset, block.bytes};
    if (block.peer == exchange.rank) {
      own_blocks.add(place);
    } else if (block.bytes > 0) {
      builder.send(block.peer, place);
    }
  }
  if (!own_blocks.slices.empty()) {
    builder.copy(own_ends.slices, own_blocks.slices);
  }
  return std::move(builder).finish();
}

Program compile_neighbor_locality_aware(const NeighborExchange& exchange) { return LocalityAware(exchange).compile(); }

} // namespace stoker::algos
