// SPDX-License-Identifier: BSD-3-Clause
// What a communicator with a graph gets of its family, for facts made by hand.
#include "engine/calls/graph_terms.hpp"

#include "engine/calls/shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace stoker::engine {
namespace {

using Share = GraphTerms::Share;
using Lanes = std::vector<std::uint64_t>;
using Indices = std::vector<std::size_t>;

// The largest of all ranks.
GraphTerms terms_of(std::initializer_list<GraphFacts> ranks, std::uint64_t served, bool tries = true) {
  std::vector<std::uint64_t> largest(ranks.begin()->numbers().size());
  for (const GraphFacts& facts : ranks) {
    const std::vector<std::uint64_t> numbers = facts.numbers();
    std::ranges::transform(largest, numbers, largest.begin(), [](auto a, auto b) { return std::max(a, b); });
  }
  return graph_terms(largest, served, tries);
}

GraphFacts with_calls(std::uint64_t calls, std::uint64_t under_way = 0) {
  GraphFacts facts;
  facts.most_calls = calls;
  facts.most_under_way = under_way;
  return facts;
}
GraphFacts with_lanes(Lanes lanes) {
  GraphFacts facts;
  facts.lanes = std::move(lanes);
  return facts;
}
GraphFacts that_learned(std::uint64_t decision) {
  GraphFacts facts;
  facts.learned = decision;
  return facts;
}

TEST(GraphTerms, OneRankCanRefuse) {
  GraphFacts apart;
  apart.apart = true;
  GraphFacts no_room;
  no_room.no_room = true;
  GraphFacts no_neighbors;
  no_neighbors.no_neighbors = true;
  EXPECT_EQ(terms_of({{}, {}}, 0).share, Share::lanes);
  EXPECT_EQ(terms_of({{}, apart}, 0).share, Share::none);
  EXPECT_EQ(terms_of({no_room, {}}, 0).share, Share::no_room);
  EXPECT_EQ(terms_of({no_room, no_neighbors}, 0).share, Share::no_neighbors);
  EXPECT_EQ(terms_of({no_room, {}}, 0).fresh, 0);
}

TEST(GraphTerms, LaterGraphsAreServedOnceOneIsCalledOften) {
  EXPECT_EQ(terms_of({{}, {}}, graphs_served_first - 1).share, Share::lanes);
  EXPECT_EQ(terms_of({{}, {}}, graphs_served_first).share, Share::few_calls);
  EXPECT_EQ(terms_of({{}, with_calls(calls_of_use)}, graphs_served_first).share, Share::lanes);
  EXPECT_EQ(terms_of({{}, {}}, graphs_served_first, false).share, Share::lanes);
}

TEST(GraphTerms, LaterGraphsHaveAsManyLanesAsCallsWereUnderWay) {
  EXPECT_EQ(terms_of({{}, {}}, 0).fresh, lanes_of_a_shape);
  EXPECT_EQ(terms_of({{}, {}}, 1).fresh, 1);
  EXPECT_EQ(terms_of({with_calls(5, 1), with_calls(5, 3)}, 1).fresh, 3);
  EXPECT_EQ(terms_of({with_calls(5, 99), {}}, 1).fresh, lanes_of_a_shape);
}

TEST(GraphTerms, LanesThatNoRankUsesAreUsedAgain) {
  constexpr std::uint64_t used = GraphFacts::in_use;
  const GraphTerms terms = terms_of({with_lanes({7, used, 3, used, 9}), with_lanes({7, 0, 3, used, 9})}, 0);
  EXPECT_EQ(terms.kept, (Indices{0, 2, 4}));
  EXPECT_EQ(terms.fresh, lanes_of_a_shape - 3);
  EXPECT_TRUE(terms.spoiled.empty());
}

TEST(GraphTerms, LanesOnWhichRanksDifferAreSpoiled) {
  const GraphTerms terms =
      terms_of({with_lanes({4, 7, 5, GraphFacts::in_use}), with_lanes({5, 7, GraphFacts::spoiled, 0})}, 1);
  EXPECT_EQ(terms.spoiled, (Indices{0, 2}));
  EXPECT_EQ(terms.kept, (Indices{1}));
  EXPECT_EQ(terms.fresh, 0);
}

TEST(GraphTerms, LanesWithoutRequestsAreUsedAgainIfNoRankHasAskedForThem) {
  constexpr std::uint64_t unasked = GraphFacts::unasked;
  const GraphTerms terms = terms_of({with_lanes({unasked, unasked, unasked}), with_lanes({unasked, 0, unasked})}, 0);
  EXPECT_EQ(terms.kept, (Indices{0, 2}));
  EXPECT_EQ(terms.spoiled, (Indices{1}));
}

TEST(GraphTerms, LanesWithRequestsAreUsedFirst) {
  constexpr std::uint64_t unasked = GraphFacts::unasked;
  const GraphFacts facts = with_lanes({unasked, unasked, 5});
  EXPECT_EQ(terms_of({facts, facts}, 1).kept, (Indices{2}));
  EXPECT_EQ(terms_of({facts, facts}, 0).kept, (Indices{2, 0, 1}));
}

TEST(GraphTerms, RoutesAreInheritedIfAllRanksKnowTheSame) {
  EXPECT_FALSE(terms_of({{}, {}}, 1).inherits);
  EXPECT_TRUE(terms_of({that_learned(3), that_learned(3)}, 1).inherits);
  EXPECT_FALSE(terms_of({that_learned(3), that_learned(4)}, 1).inherits);
  EXPECT_FALSE(terms_of({that_learned(3), {}}, 1).inherits);
}

} // namespace
} // namespace stoker::engine
