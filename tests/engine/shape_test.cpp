// SPDX-License-Identifier: BSD-3-Clause
// How many calls of a shape are under way at a time.
#include "engine/calls/shape.hpp"

#include <gtest/gtest.h>

#include <set>

namespace stoker::engine {
namespace {

using algos::Collective;

TEST(Lanes, AreFourButForBlockingCallsAndExchangesAmongManyRanks) {
  for (const Collective collective : {Collective::alltoall, Collective::alltoallv}) {
    EXPECT_EQ(lanes_used(collective, 1024, false), 4);
    EXPECT_EQ(lanes_used(collective, 1025, false), 1);
  }
  for (const Collective collective : {Collective::allreduce, Collective::gatherv, Collective::neighbor_alltoallv}) {
    EXPECT_EQ(lanes_used(collective, 1'000'000, false), 4);
    EXPECT_EQ(lanes_used(collective, 2, true), 1);
  }
}

TEST(Lanes, TakeTurns) {
  for (const std::size_t lanes : {1, 4}) {
    ShapeKey key;
    key.lanes = lanes;
    Shape shape(key, RouteTrials(false));
    std::set<std::size_t> used;
    for (std::uint64_t call = 0; call < 8; ++call) {
      used.insert(shape.lane_number(call));
      EXPECT_EQ(shape.lane_number(call), shape.lane_number(call + lanes));
    }
    EXPECT_EQ(used.size(), lanes);
  }
}

} // namespace
} // namespace stoker::engine
