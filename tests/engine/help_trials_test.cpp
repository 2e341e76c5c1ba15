// SPDX-License-Identifier: BSD-3-Clause
// Whether help is given, for times made by hand.
#include "engine/helper/help_trials.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace stoker::engine {
namespace {

struct IntervalTimes {
  std::uint64_t with;
  std::uint64_t without;
  std::uint64_t beside;
};

// How many of the next intervals were helped.
int go(HelpTrials& trials, int intervals, const IntervalTimes& times) {
  int helped = 0;
  for (int i = 0; i < intervals; ++i) {
    const bool helps = trials.start();
    helped += helps ? 1 : 0;
    trials.finished(helps ? times.with : times.without, times.beside);
  }
  return helped;
}

constexpr IntervalTimes worth_it{.with = 10'000'000, .without = 18'000'000, .beside = 9'000'000};
constexpr IntervalTimes in_vain{.with = 10'000'000, .without = 9'900'000, .beside = 9'000'000};
constexpr IntervalTimes at_once{.with = 50'000, .without = 40'000, .beside = 300};

TEST(HelpTrials, HelpThatPaysIsKept) {
  HelpTrials trials;
  const int intervals = 1000;
  const int helped = go(trials, intervals, worth_it);
  EXPECT_TRUE(trials.helps());
  EXPECT_GE(helped, intervals - 25); // four trials: at 16, then 64, 256 and 1024 later
  EXPECT_LT(helped, intervals);
  EXPECT_EQ(trials.median_ns(true), worth_it.with);
  EXPECT_EQ(trials.median_ns(false), worth_it.without);
}

TEST(HelpTrials, HelpThatDoesNotPayStopsAndIsTriedMoreAndMoreRarely) {
  HelpTrials trials;
  EXPECT_EQ(go(trials, 16, in_vain), 15);
  go(trials, 4, in_vain);
  EXPECT_FALSE(trials.helps());
  EXPECT_LE(go(trials, 1000, in_vain), 25);
  EXPECT_LE(go(trials, 100'000, in_vain), 150);
}

TEST(HelpTrials, NothingIsKnownBeforeTheFirstTrial) {
  HelpTrials trials;
  go(trials, 15, worth_it);
  EXPECT_TRUE(trials.helps());
  EXPECT_TRUE(trials.median_ns(true).has_value());
  EXPECT_FALSE(trials.median_ns(false).has_value());
}

TEST(HelpTrials, AProgramThatBeginsToGainIsHelpedAgain) {
  HelpTrials trials;
  go(trials, 40, in_vain);
  ASSERT_FALSE(trials.helps());
  go(trials, 300, worth_it);
  EXPECT_TRUE(trials.helps());
}

TEST(HelpTrials, AWaitAtOnceNeedsNoTrial) {
  HelpTrials trials;
  EXPECT_EQ(go(trials, 1000, at_once), HelpTrials::prompt_intervals);
  EXPECT_TRUE(trials.helps()); // if there were something to gain
  go(trials, 1, worth_it);
  EXPECT_EQ(go(trials, 5, worth_it), 5);
}

TEST(HelpTrials, IntervalsThatWereGivenUpDoNotCount) {
  HelpTrials trials;
  for (int i = 0; i < 100; ++i) {
    (void)trials.start();
  }
  EXPECT_TRUE(trials.helps());
  EXPECT_FALSE(trials.median_ns(true).has_value());
}

} // namespace
} // namespace stoker::engine
