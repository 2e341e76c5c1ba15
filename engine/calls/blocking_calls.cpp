// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/blocking_calls.hpp"

#include <algorithm>
#include <bit>

namespace stoker::engine {

bool BlockingKey::operator==(const BlockingKey& other) const {
  return collective == other.collective && root == other.root && code.op == other.code.op &&
         code.type == other.code.type && user_defined == other.user_defined && commutative == other.commutative &&
         element_bytes == other.element_bytes && sizes == other.sizes;
}

StagingMemory::~StagingMemory() {
  for (const auto& [bytes, offset] : offsets_) {
    memory_->arena().deallocate(offset);
  }
}

std::byte* StagingMemory::at_least(std::uint64_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  constexpr std::uint64_t least = 4096;
  const std::uint64_t size = std::bit_ceil(std::max(bytes, least));
  const auto [entry, fresh] = offsets_.try_emplace(size, 0);
  if (fresh) {
    try {
      entry->second = memory_->arena().allocate(size, cache_line);
    } catch (...) {
      offsets_.erase(entry);
      throw;
    }
  }
  return memory_->arena().base() + entry->second;
}

BoundRequest* BlockingCalls::find(const BlockingKey& key) {
  const auto found = std::ranges::find(requests_, key, &BoundRequest::key);
  if (found == requests_.end()) {
    return nullptr;
  }
  requests_.splice(requests_.begin(), requests_, found);
  return &requests_.front();
}

BoundRequest& BlockingCalls::add(BoundRequest bound) {
  if (requests_.size() == most_requests) {
    requests_.pop_back();
  }
  return requests_.emplace_front(std::move(bound));
}

} // namespace stoker::engine
