// SPDX-License-Identifier: BSD-3-Clause
// What a communicator with a graph gets of what its family has (graph_family.hpp). Each rank brings the facts that it
// knows. The largest of all ranks decide, so all ranks decide alike. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stoker::engine {

// One rank's.
struct GraphFacts {
  bool apart = false;        // it is to have all that it needs of its own
  bool no_room = false;      // there is no communicator left for it
  bool no_neighbors = false; // this rank has none
  // The calls on the one of the graphs before it that has most, and the most under way at a time.
  std::uint64_t most_calls = 0;
  std::uint64_t most_under_way = 0;
  std::uint64_t learned = 0; // the decision on routes that the family made last; 0: none
  // One for each lane that the family keeps: how often it was started, or one of these.
  static constexpr std::uint64_t in_use = ~std::uint64_t{0} - 1;
  static constexpr std::uint64_t spoiled = ~std::uint64_t{0} - 2;
  static constexpr std::uint64_t unasked = ~std::uint64_t{0} - 3; // this rank has not asked for its request
  std::vector<std::uint64_t> lanes;

  // Numbers whose largest of all ranks graph_terms() takes.
  [[nodiscard]] std::vector<std::uint64_t> numbers() const;
};

struct GraphTerms {
  enum class Share : std::uint8_t { lanes, none, no_room, no_neighbors, few_calls };
  Share share = Share::none;
  bool inherits = false;            // the routes that the family has learned, which are the same on all ranks
  std::vector<std::size_t> kept;    // lanes of the family's that it uses
  std::size_t fresh = 0;            // lanes to be made for it
  std::vector<std::size_t> spoiled; // lanes of the family's that nobody may use again
};

// The first graphs of a family are served. Later ones are, if some graph was called often: making a communicator and
// requests for a few calls takes longer than they can save.
inline constexpr std::uint64_t graphs_served_first = 8;
inline constexpr std::uint64_t calls_of_use = 16;
// The first graph has all lanes, which a few calls at a time need. Later ones have as many as calls were under way.
// `served`: graphs before it that were. `tries`: there are trials; else all graphs are served.
[[nodiscard]] GraphTerms graph_terms(std::span<const std::uint64_t> largest, std::uint64_t served, bool tries);

} // namespace stoker::engine
