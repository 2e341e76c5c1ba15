// SPDX-License-Identifier: BSD-3-Clause
// The end of a block: see lower.hpp.
#include "engine/execute/lower.hpp"

#include <algorithm>
#include <atomic>

namespace stoker::engine {

bool reclaimable(const NodeMemory& memory, const BlockHeader& block, std::uint64_t last_epoch, bool submitted) {
  const Block& shared = *memory.at<Block>({memory.self(), 0, block.place});
  if (submitted && shared.retired.load(std::memory_order_acquire) != last_epoch) {
    return false;
  }
  const auto* taken = in_block<TakenWord>(&shared, block.taken_at);
  return std::all_of(taken, taken + block.taken_count, [&](const TakenWord& word) {
    return word.epoch.load(std::memory_order_acquire) == last_epoch; // released in try_recv and try_recv_pieces
  });
}

void reclaim(NodeMemory& memory, TagSpace& tags, const BlockHeader& block) {
  Block& shared = *memory.arena().at<Block>(block.place);
  if (block.first_tag != 0 && !shared.has_failed) {
    tags.give(block.first_tag);
  }
  shared.magic = 0;
  memory.arena().deallocate(block.place);
}

} // namespace stoker::engine
