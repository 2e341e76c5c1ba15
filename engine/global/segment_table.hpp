// SPDX-License-Identifier: BSD-3-Clause
// The translation table of global pointers: which segment has a number, and where each unit's part of it lies. Looked
// up by any thread without a lock, changed by one at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace stoker::engine {

// One unit's part of a segment.
struct SegmentPart {
  std::byte* address = nullptr;   // here; null: on another node, or the unit has none
  std::uint64_t place = 0;        // offset in the unit's arena; 0: the unit has none
  std::uint64_t displacement = 0; // in the carriers' window; 0: in none

  [[nodiscard]] SegmentPart at(std::uint64_t offset) const {
    return {.address = address == nullptr ? nullptr : address + offset,
            .place = place + offset,
            .displacement = displacement == 0 ? 0 : displacement + offset};
  }
};

struct Segment {
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;        // of each part
  std::vector<SegmentPart> parts; // by unit
};

// Open addressing. An entry is written before its number is (release), and a number found (acquire) shows its entry.
// Erasing clears the entry and leaves the number, so that others behind it are still found; its place is used again. A
// table that has become too small is copied into a larger one; the old one is kept, since a thread may be looking at
// it.
class SegmentTable {
public:
  SegmentTable();
  SegmentTable(const SegmentTable&) = delete;
  SegmentTable& operator=(const SegmentTable&) = delete;
  ~SegmentTable() = default;

  // nullptr when there is none. The segment is there until it is erased.
  [[nodiscard]] const Segment* find(std::uint32_t number) const noexcept {
    const Table& table = *table_.load(std::memory_order_acquire); // released by insert()
    const std::uint64_t key = key_of(number);
    for (std::size_t i = first(number, table.mask), looked = 0; looked <= table.mask;
         i = (i + 1) & table.mask, ++looked) {
      const std::uint64_t found = table.entries[i].key.load(std::memory_order_acquire); // released by insert()
      if (found == key) {
        return table.entries[i].segment.load(std::memory_order_relaxed);
      }
      if (found == 0) {
        return nullptr;
      }
    }
    return nullptr;
  }

  // The number must be new.
  void insert(std::unique_ptr<const Segment> segment);
  // Nobody may use a pointer into it any more.
  void erase(std::uint32_t number);
  void clear();

private:
  struct Entry {
    std::atomic<std::uint64_t> key{0}; // 0: never used
    std::atomic<const Segment*> segment{nullptr};
  };
  struct Table {
    explicit Table(std::size_t count) : mask(count - 1), entries(count) {}
    std::size_t mask;
    std::vector<Entry> entries;
  };
  static std::uint64_t key_of(std::uint32_t number) { return std::uint64_t{number} + 1; }
  // Numbers of one unit's are as far apart as there are ranks: multiplied, so that they do not all meet (Knuth, volume
  // 3, 6.4).
  static std::size_t first(std::uint32_t number, std::size_t mask) {
    return static_cast<std::size_t>((number * std::uint64_t{0x9e3779b97f4a7c15}) >> 32U) & mask;
  }
  static void place(Table& table, const Segment& segment);

  std::atomic<Table*> table_;
  std::vector<std::unique_ptr<Table>> tables_; // the last one is in use
  std::vector<std::unique_ptr<const Segment>> segments_;
};

} // namespace stoker::engine
