// SPDX-License-Identifier: BSD-3-Clause
// The problem a neighborhood all-to-all solves, seen from one rank: a block to each rank of one list, a block from each
// of another. MPI_Neighbor_alltoall is the case of equal blocks. A rank may be listed several times: the k-th block
// from a to b in a's list arrives as the k-th block from a in b's list.
#pragma once

#include "algos/schedule/schedule.hpp"
#include "topology/layout.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stoker::algos {

// One end of an edge. Sizes and offsets in bytes.
struct NeighborBlock {
  int peer = 0;             // the rank at the other end
  std::uint64_t bytes = 0;  // equal at both ends
  std::uint64_t offset = 0; // of the block in this end's sendbuf or recvbuf; outgoing blocks may overlap
  // Where the block begins in what its source sends to the whole node of its target, every byte once; equal at both
  // ends.
  std::uint64_t shared_offset = 0;
  bool operator==(const NeighborBlock&) const = default;
};

struct Neighborhood {
  std::vector<NeighborBlock> outgoing;
  std::vector<NeighborBlock> incoming;
};

// Fills in shared_offset of a rank's outgoing blocks: data that blocks for ranks of one node share are counted once.
void share_by_node(const topology::Layout& layout, std::vector<NeighborBlock>& outgoing);

struct NeighborExchange {
  const topology::Layout& layout;
  int rank = 0;
  const Neighborhood& own;
  // The neighborhoods of all ranks of this rank's node, in rank order; algorithms with Knowledge::own do not read them.
  // The offsets of other ranks' blocks are offsets in their buffers.
  std::span<const Neighborhood> node;

  // The ends of the blocks in sendbuf and recvbuf.
  [[nodiscard]] std::uint64_t send_bytes() const;
  [[nodiscard]] std::uint64_t recv_bytes() const;
};

} // namespace stoker::algos
