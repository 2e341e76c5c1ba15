// SPDX-License-Identifier: BSD-3-Clause
// Which parts of a range are in use: of bytes, or whatever is counted. Offsets only, so it serves memory that this
// process shares with others.
// Best fit; free neighbours are joined. One thread at a time.
#pragma once

#include "engine/base/cache_line.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace stoker::engine {

class FreeList {
public:
  static constexpr std::uint64_t granularity = cache_line; // blocks of different owners share none

  FreeList() = default;
  // Sizes are rounded up to multiples of `unit`, of which `begin` is one.
  FreeList(std::uint64_t begin, std::uint64_t bytes, std::uint64_t unit = granularity);

  // Nothing when no free block is large enough. `alignment`: a power of two.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment);
  // The size of the block at `offset`; nothing when no block begins there.
  [[nodiscard]] std::optional<std::uint64_t> size_of(std::uint64_t offset) const;
  // `offset` is one that take() returned.
  void give(std::uint64_t offset);

  [[nodiscard]] std::uint64_t bytes_in_use() const { return bytes_in_use_; }
  [[nodiscard]] std::uint64_t largest_free() const { return free_by_size_.empty() ? 0 : free_by_size_.rbegin()->first; }

private:
  void insert_free(std::uint64_t offset, std::uint64_t bytes);
  void erase_free(std::map<std::uint64_t, std::uint64_t>::iterator block);

  std::map<std::uint64_t, std::uint64_t> free_;                    // offset -> bytes
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_by_size_; // {bytes, offset}: the first that fits is the best
  std::map<std::uint64_t, std::uint64_t> used_;                    // offset -> bytes
  std::uint64_t bytes_in_use_ = 0;
  std::uint64_t unit_ = granularity;
};

} // namespace stoker::engine
