// SPDX-License-Identifier: BSD-3-Clause
#include "engine/shared/helper_counters.hpp"

#include <gtest/gtest.h>

namespace stoker::engine {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

TEST(HelperCounters, AreZeroWithoutAHelper) {
  const HelperStatistics sums = HelperCounters().sums(17 * second);
  EXPECT_EQ(sums.busy_seconds + sums.idle_seconds + sums.sleeping_seconds, 0.0);
}

TEST(HelperCounters, TimesAddUpToTheAge) {
  HelperCounters counters;
  counters.begin(10 * second);
  EXPECT_EQ(counters.sums(12 * second).sleeping_seconds, 2.0);
  counters.count_busy(second);
  counters.count_idle(2 * second);
  counters.count_busy(second);
  const HelperStatistics sums = counters.sums(18 * second);
  EXPECT_EQ(sums.busy_seconds, 2.0);
  EXPECT_EQ(sums.idle_seconds, 2.0);
  EXPECT_EQ(sums.sleeping_seconds, 4.0);
}

TEST(HelperCounters, CountEachPollersRounds) {
  HelperCounters counters;
  counters.begin(1);
  counters.count_round(Submitted::epoch, true);
  counters.count_round(Submitted::epoch, false);
  counters.count_round(Submitted::epoch, false);
  counters.count_round(Submitted::operation, true);
  const auto rounds = counters.sums(2).rounds;
  EXPECT_EQ(rounds[0].busy, 1U);
  EXPECT_EQ(rounds[0].idle, 2U);
  EXPECT_EQ(rounds[1].busy, 1U);
  EXPECT_EQ(rounds[1].idle, 0U);
}

} // namespace
} // namespace stoker::engine
