// SPDX-License-Identifier: BSD-3-Clause
// Block sizes and block places of an all-to-all exchange.
#include "algos/collectives/exchange.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace stoker::algos {

namespace {

void check_sizes(int rank, int ranks, std::size_t sizes) {
  if (rank < 0 || rank >= ranks || sizes != static_cast<std::size_t>(ranks)) {
    throw std::invalid_argument("block sizes of rank " + std::to_string(rank) + ": " + std::to_string(sizes) +
                                " given for " + std::to_string(ranks) + " ranks");
  }
}

} // namespace

BlockSizes BlockSizes::uniform(int ranks, std::uint64_t bytes) {
  BlockSizes sizes;
  sizes.ranks_ = ranks;
  sizes.uniform_ = bytes;
  return sizes;
}

BlockSizes BlockSizes::table(int ranks) {
  BlockSizes sizes;
  sizes.ranks_ = ranks;
  sizes.rows_.resize(static_cast<std::size_t>(ranks));
  sizes.columns_.resize(static_cast<std::size_t>(ranks));
  return sizes;
}

void BlockSizes::set_row(int rank, std::vector<std::uint64_t> sizes) {
  check_sizes(rank, ranks_, sizes.size());
  rows_.at(static_cast<std::size_t>(rank)) = std::move(sizes);
}

void BlockSizes::set_column(int rank, std::vector<std::uint64_t> sizes) {
  check_sizes(rank, ranks_, sizes.size());
  columns_.at(static_cast<std::size_t>(rank)) = std::move(sizes);
}

std::uint64_t BlockSizes::from_table(int source, int target) const {
  if (!rows_[source].empty()) {
    return rows_[source][target];
  }
  if (!columns_[target].empty()) {
    return columns_[target][source];
  }
  throw std::logic_error("the size of the block from rank " + std::to_string(source) + " to rank " +
                         std::to_string(target) + " is not known here");
}

std::vector<std::uint64_t> equal_offsets(int ranks, std::uint64_t bytes) {
  std::vector<std::uint64_t> offsets(static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < offsets.size(); ++r) {
    offsets[r] = r * bytes;
  }
  return offsets;
}

Slice Exchange::outgoing(int peer) const {
  return in_place ? Slice{Buffer::recv, recv_offsets[peer], sizes(rank, peer)}
                  : Slice{Buffer::send, send_offsets[peer], sizes(rank, peer)};
}

Slice Exchange::incoming(int peer) const { return {Buffer::recv, recv_offsets[peer], sizes(peer, rank)}; }

Slice Exchange::remote(int peer) const {
  if (put_offsets.empty()) {
    throw std::logic_error("where other ranks' blocks lie in their receive buffers is not known here");
  }
  return {Buffer::recv, put_offsets[peer], sizes(rank, peer)};
}

std::uint64_t Exchange::send_bytes() const {
  std::uint64_t end = 0;
  for (int peer = 0; !in_place && peer < layout.ranks(); ++peer) {
    const Slice block = outgoing(peer);
    end = block.length == 0 ? end : std::max(end, block.offset + block.length);
  }
  return end;
}

std::uint64_t Exchange::recv_bytes() const {
  std::uint64_t end = 0;
  for (int peer = 0; peer < layout.ranks(); ++peer) {
    const Slice block = incoming(peer);
    end = block.length == 0 ? end : std::max(end, block.offset + block.length);
  }
  return end;
}

} // namespace stoker::algos
