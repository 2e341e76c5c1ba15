// SPDX-License-Identifier: BSD-3-Clause
// The tags of the messages that come to one rank from other nodes. A message is known by the endpoint that it comes
// from and by its tag. The ranks that share an endpoint share its tags out among them, and each request of a rank has
// some in a row: as many as messages come from any one node, for those of different nodes come from different
// endpoints. When the request's memory is given back, all of its messages have arrived, and its tags serve the next
// one, unless an epoch of it has failed.
#pragma once

#include "engine/shared/free_list.hpp"

#include <cstdint>
#include <mutex>
#include <optional>

namespace stoker::engine {

// Any thread.
class TagSpace {
public:
  // The part number `index` of `ranks` equal parts of the tags from 1 to `highest_tag`.
  TagSpace(int highest_tag, std::uint64_t ranks, std::uint64_t index)
      : count_(static_cast<std::uint64_t>(highest_tag) / ranks), free_(1 + (index * count_), count_, 1) {}

  // Nothing when there are not as many in a row.
  [[nodiscard]] std::optional<int> take(std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    const auto first = free_.take(count, 1);
    return first ? std::optional(static_cast<int>(*first)) : std::nullopt;
  }
  // `first`: what take() returned.
  void give(int first) {
    const std::lock_guard lock(mutex_);
    free_.give(static_cast<std::uint64_t>(first));
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

private:
  std::uint64_t count_;
  std::mutex mutex_;
  FreeList free_;
};

} // namespace stoker::engine
