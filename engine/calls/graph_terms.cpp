// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/graph_terms.hpp"

#include "engine/calls/shape.hpp"

#include <algorithm>

namespace stoker::engine {
namespace {

// In numbers(). Behind them two for each lane.
enum Index : std::size_t { apart, no_room, no_neighbors, most_calls, most_under_way, learned, other_learned, lanes };

// The largest and the least of what ranks say; the least is asked for with all bits turned.
struct Range {
  std::uint64_t most;
  std::uint64_t least;
  [[nodiscard]] bool equal() const { return most == least; }
};
Range range_at(std::span<const std::uint64_t> largest, std::size_t place) {
  return {largest[place], ~largest[place + 1]};
}

GraphTerms::Share share(std::span<const std::uint64_t> largest, std::uint64_t served, bool tries) {
  using Share = GraphTerms::Share;
  if (largest[apart] != 0) {
    return Share::none;
  }
  if (largest[no_neighbors] != 0) {
    return Share::no_neighbors;
  }
  if (tries && served >= graphs_served_first && largest[most_calls] < calls_of_use) {
    return Share::few_calls;
  }
  return largest[no_room] != 0 ? Share::no_room : Share::lanes;
}

} // namespace

std::vector<std::uint64_t> GraphFacts::numbers() const {
  std::vector<std::uint64_t> numbers{apart, no_room, no_neighbors, most_calls, most_under_way, learned, ~learned};
  for (const std::uint64_t lane : lanes) {
    numbers.insert(numbers.end(), {lane, ~lane});
  }
  return numbers;
}

GraphTerms graph_terms(std::span<const std::uint64_t> largest, std::uint64_t served, bool tries) {
  GraphTerms terms;
  terms.share = share(largest, served, tries);
  const Range decision = range_at(largest, learned);
  terms.inherits = decision.equal() && decision.most != 0;
  const std::uint64_t under_way = std::clamp<std::uint64_t>(largest[most_under_way], 1, lanes_of_a_shape);
  const std::size_t wanted = terms.share != GraphTerms::Share::lanes ? 0
                             : served == 0                           ? lanes_of_a_shape
                                                                     : static_cast<std::size_t>(under_way);
  std::vector<std::size_t> unasked;
  for (std::size_t lane = 0; lanes + (2 * lane) < largest.size(); ++lane) {
    const Range starts = range_at(largest, lanes + (2 * lane));
    if (starts.most == GraphFacts::in_use) {
      continue;
    }
    if (!starts.equal() || starts.most == GraphFacts::spoiled) {
      terms.spoiled.push_back(lane);
    } else if (starts.most == GraphFacts::unasked) {
      unasked.push_back(lane);
    } else if (terms.kept.size() < wanted) {
      terms.kept.push_back(lane);
    }
  }
  // Those with a request are better.
  unasked.resize(std::min(unasked.size(), wanted - terms.kept.size()));
  terms.kept.insert(terms.kept.end(), unasked.begin(), unasked.end());
  terms.fresh = wanted - terms.kept.size();
  return terms;
}

} // namespace stoker::engine
