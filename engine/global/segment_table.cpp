// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/segment_table.hpp"

#include <algorithm>

namespace stoker::engine {

SegmentTable::SegmentTable() {
  tables_.push_back(std::make_unique<Table>(16));
  table_.store(tables_.back().get(), std::memory_order_relaxed); // nobody looks yet
}

void SegmentTable::place(Table& table, const Segment& segment) {
  std::size_t i = first(segment.number, table.mask);
  while (table.entries[i].segment.load(std::memory_order_relaxed) != nullptr) {
    i = (i + 1) & table.mask;
  }
  table.entries[i].segment.store(&segment, std::memory_order_relaxed);
  table.entries[i].key.store(key_of(segment.number), std::memory_order_release); // acquired in find()
}

void SegmentTable::insert(std::unique_ptr<const Segment> segment) {
  segments_.push_back(std::move(segment));
  Table& table = *tables_.back();
  if (2 * segments_.size() <= table.entries.size()) {
    place(table, *segments_.back());
    return;
  }
  tables_.push_back(std::make_unique<Table>(2 * table.entries.size()));
  for (const auto& each : segments_) {
    place(*tables_.back(), *each);
  }
  table_.store(tables_.back().get(), std::memory_order_release); // acquired in find()
}

void SegmentTable::erase(std::uint32_t number) {
  const Segment* const segment = find(number);
  for (Entry& entry : tables_.back()->entries) {
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
