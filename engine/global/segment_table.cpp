// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/segment_table.hpp"

#include <algorithm>

namespace stoker::engine {

SegmentTable::SegmentTable() {
  all_slots_.push_back(std::make_unique<Slots>(16));
  slots_.store(all_slots_.back().get(), std::memory_order_relaxed); // nobody looks yet
}

void SegmentTable::place(Slots& slots, const Segment& segment) {
  std::size_t i = first(segment.number, slots.mask);
  while (slots.entries[i].segment.load(std::memory_order_relaxed) != nullptr) {
    i = (i + 1) & slots.mask;
  }
  slots.entries[i].segment.store(&segment, std::memory_order_relaxed);
  slots.entries[i].key.store(key_of(segment.number), std::memory_order_release); // acquired in find()
}

void SegmentTable::insert(std::unique_ptr<const Segment> segment) {
  segments_.push_back(std::move(segment));
  Slots& slots = *all_slots_.back();
  if (2 * segments_.size() <= slots.entries.size()) {
    place(slots, *segments_.back());
    return;
  }
  all_slots_.push_back(std::make_unique<Slots>(2 * slots.entries.size()));
  for (const auto& each : segments_) {
    place(*all_slots_.back(), *each);
  }
  slots_.store(all_slots_.back().get(), std::memory_order_release); // acquired in find()
}

void SegmentTable::erase(std::uint32_t number) {
  const Segment* const segment = find(number);
  for (Entry& entry : all_slots_.back()->entries) {
    if (entry.segment.load(std::memory_order_relaxed) == segment) {
      entry.segment.store(nullptr, std::memory_order_relaxed);
    }
  }
  std::erase_if(segments_, [&](const auto& each) { return each.get() == segment; });
}

void SegmentTable::clear() {
  while (!segments_.empty()) {
    erase(segments_.back()->number);
  }
}

} // namespace stoker::engine
