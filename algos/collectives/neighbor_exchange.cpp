// SPDX-License-Identifier: BSD-3-Clause
// Blocks of a neighborhood all-to-all, and the data that blocks for one node share.
#include "algos/collectives/neighbor_exchange.hpp"

#include <algorithm>
#include <map>

namespace stoker::algos {

namespace {

std::uint64_t reach(const std::vector<NeighborBlock>& blocks) {
  std::uint64_t end = 0;
  for (const NeighborBlock& block : blocks) {
    end = block.bytes == 0 ? end : std::max(end, block.offset + block.bytes);
  }
  return end;
}

} // namespace

void share_by_node(const topology::Layout& layout, std::vector<NeighborBlock>& outgoing) {
  std::map<int, std::vector<NeighborBlock*>> by_node;
  for (NeighborBlock& block : outgoing) {
    if (block.bytes > 0) {
      by_node[layout.node_of(block.peer)].push_back(&block);
    }
  }
  for (auto& [node, blocks] : by_node) {
    std::ranges::stable_sort(blocks, {}, &NeighborBlock::offset);
    // Runs of the buffer that some block needs, one behind the other.
    std::uint64_t run_begin = blocks.front()->offset;
    std::uint64_t run_end = run_begin;
    std::uint64_t place = 0;
    for (NeighborBlock* block : blocks) {
      if (block->offset > run_end) {
        place += run_end - run_begin;
        run_begin = run_end = block->offset;
      }
      block->shared_offset = place + (block->offset - run_begin);
      run_end = std::max(run_end, block->offset + block->bytes);
    }
  }
}

std::uint64_t NeighborExchange::send_bytes() const { return reach(own.outgoing); }
std::uint64_t NeighborExchange::recv_bytes() const { return reach(own.incoming); }

} // namespace stoker::algos
