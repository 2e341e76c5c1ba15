// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm was found to be the fastest where: what a tuning file holds (docs/tuning.md). Every entry covers
// ranges. What no entry covers is left to the cost model: nothing is interpolated, and nothing extrapolated.
#pragma once

#include "algos/select/choice.hpp"
#include "topology/layout.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stoker::algos {

// From the first number to the last, both included.
struct Interval {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool operator==(const Interval&) const = default;

  [[nodiscard]] bool has(std::uint64_t number) const { return first <= number && number <= last; }
  [[nodiscard]] bool meets(const Interval& other) const { return first <= other.last && other.first <= last; }
};

struct TuningEntry {
  Choice choice;           // as it is written, not resolved
  Interval nodes;          // of the communicator
  Interval ranks_per_node; // of each of its nodes
  Interval bytes;          // see tuned_bytes()
  int line = 0;            // of its file; 0: of none
  bool operator==(const TuningEntry&) const = default;

  [[nodiscard]] Collective collective() const { return choice.algorithm->collective; }
  [[nodiscard]] bool covers(const topology::Layout& layout, std::uint64_t size) const;
};

// Whether a tuning may have entries for it: not for neighborhoods, whose time depends on who is whose neighbor.
[[nodiscard]] constexpr bool is_tunable(Collective collective) {
  return pattern_of(collective) != Pattern::neighborhood;
}

// The size of a call as `stoker schedule --bytes` counts it: the block for each pair of ranks, the block of each rank,
// or the vector. The mean of blocks that differ, rounded up; 0 of none.
[[nodiscard]] std::uint64_t tuned_bytes(std::span<const std::uint64_t> sizes);

class TuningTable {
public:
  // Throws std::invalid_argument for a collective that is not tunable, and for an entry of which a part is covered by
  // an earlier one.
  void add(const TuningEntry& entry);
  // Entries from what is the fastest at some sizes, in ascending order. Each covers the sizes that are nearer to its
  // own than to the next one's, by their ratio, and none beyond the first and the last. Neighbors that are equal share
  // one.
  struct Fastest {
    std::uint64_t bytes = 0;
    Choice choice;
  };
  void add_series(Interval nodes, Interval ranks_per_node, std::span<const Fastest> series);
  // nullptr if no entry covers such a call.
  [[nodiscard]] const TuningEntry* find(Collective collective, const topology::Layout& layout,
                                        std::uint64_t bytes) const;

  [[nodiscard]] const std::vector<TuningEntry>& entries() const { return entries_; } // in the order of add()
  bool operator==(const TuningTable&) const = default;

private:
  std::vector<TuningEntry> entries_;
};

} // namespace stoker::algos
