// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/free_list.hpp"

#include "engine/base/round_up.hpp"

#include <algorithm>
#include <iterator>

namespace stoker::engine {
FreeList::FreeList(std::uint64_t begin, std::uint64_t bytes, std::uint64_t unit) : unit_(unit) {
  if (bytes > 0) {
    insert_free(begin, bytes);
  }
}

void FreeList::insert_free(std::uint64_t offset, std::uint64_t bytes) {
  free_.emplace(offset, bytes);
  free_by_size_.emplace(bytes, offset);
}

void FreeList::erase_free(std::map<std::uint64_t, std::uint64_t>::iterator block) {
  free_by_size_.erase({block->second, block->first});
  free_.erase(block);
}

std::optional<std::uint64_t> FreeList::take(std::uint64_t bytes, std::uint64_t alignment) {
  if (bytes > largest_free()) {
    return std::nullopt; // also: rounding up does not overflow
  }
  const std::uint64_t size = round_up(std::max<std::uint64_t>(bytes, 1), unit_);
  // Free blocks begin at multiples of the unit. Takes the smallest that is large enough after its begin has been
  // aligned.
  for (auto fit = free_by_size_.lower_bound({size, 0}); fit != free_by_size_.end(); ++fit) {
    const auto [block_bytes, block_offset] = *fit;
    const std::uint64_t offset = round_up(block_offset, alignment);
    const std::uint64_t skipped = offset - block_offset;
    if (skipped > block_bytes - size) {
      continue;
    }
    erase_free(free_.find(block_offset));
    if (skipped > 0) {
      insert_free(block_offset, skipped);
    }
    if (skipped + size < block_bytes) {
      insert_free(offset + size, block_bytes - skipped - size);
    }
    used_.emplace(offset, size);
    bytes_in_use_ += size;
    return offset;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> FreeList::size_of(std::uint64_t offset) const {
  const auto used = used_.find(offset);
  return used == used_.end() ? std::nullopt : std::optional(used->second);
}

void FreeList::give(std::uint64_t offset) {
  const auto used = used_.find(offset);
  std::uint64_t begin = offset;
  std::uint64_t end = offset + used->second;
  bytes_in_use_ -= used->second;
  used_.erase(used);
  // Join with the free neighbours.
  auto next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == begin) {
      begin = previous->first;
      erase_free(previous);
    }
  }
  if (next != free_.end() && next->first == end) {
    end += next->second;
    erase_free(next);
  }
  insert_free(begin, end - begin);
}

} // namespace stoker::engine
