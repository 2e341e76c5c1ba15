// SPDX-License-Identifier: BSD-3-Clause
// The wake policy against applications made by hand.
#include "engine/helper/wake_policy.hpp"

#include <gtest/gtest.h>

namespace stoker::engine {
namespace {

// An application whose step takes so long with the helper woken, and so long without.
struct Application {
  std::uint64_t woken_ns;
  std::uint64_t left_ns;
  std::uint64_t exchange_ns = 300'000;
  std::uint64_t wait_after_ns = 500'000;

  // How many of the next `epochs` epochs woke the helper.
  int run(WakePolicy& policy, int epochs) {
    int wakes = 0;
    for (int i = 0; i < epochs; ++i) {
      const bool woken = policy.start();
      wakes += woken ? 1 : 0;
      policy.waited(wait_after_ns);
      policy.finished(woken ? woken_ns : left_ns, exchange_ns);
    }
    return wakes;
  }
};

constexpr int trial = static_cast<int>(WakePolicy::trial);

TEST(WakePolicy, WakesWhereThatIsFaster) {
  WakePolicy policy;
  Application gains{.woken_ns = 600'000, .left_ns = 900'000};
  EXPECT_EQ(gains.run(policy, 2000), 2000 - (4 * trial)); // trials at 16, 80, 336 and 1360
}

TEST(WakePolicy, LeavesItAsleepWhereThatIsFaster) {
  WakePolicy policy;
  Application loses{.woken_ns = 740'000, .left_ns = 610'000};
  EXPECT_EQ(loses.run(policy, 16), 15);
  EXPECT_EQ(loses.run(policy, 60), 0);
  EXPECT_EQ(loses.run(policy, 300), 2 * trial); // wakes are tried again, at 80 and 336
}

TEST(WakePolicy, ATieChangesNothing) {
  WakePolicy policy;
  Application even{.woken_ns = 600'000, .left_ns = 590'000};
  EXPECT_EQ(even.run(policy, 75), 75 - trial);
}

TEST(WakePolicy, ComesBackWhenTheApplicationChanges) {
  WakePolicy policy;
  Application application{.woken_ns = 740'000, .left_ns = 610'000};
  application.run(policy, 60);
  application.woken_ns = 610'000;
  application.left_ns = 900'000;
  application.run(policy, 40); // the trial at 80
  EXPECT_EQ(application.run(policy, 100), 100);
}

TEST(WakePolicy, LongExchangesAreNotTried) {
  WakePolicy policy;
  Application slow{.woken_ns = 9'000'000, .left_ns = 8'000'000, .exchange_ns = 5'000'000};
  EXPECT_EQ(slow.run(policy, 1000), 1000);
}

TEST(WakePolicy, BeingNeededElsewhereBringsTheHelperBack) {
  WakePolicy policy;
  Application loses{.woken_ns = 740'000, .left_ns = 610'000};
  loses.run(policy, 60);
  policy.missed();
  EXPECT_EQ(loses.run(policy, 19), 19); // until the next trial, at 80
}

TEST(WakePolicy, BlockingUseLeavesItAsleepAtOnce) {
  WakePolicy policy;
  Application blocking{.woken_ns = 100'000, .left_ns = 100'000, .exchange_ns = 100'000, .wait_after_ns = 200};
  EXPECT_EQ(blocking.run(policy, 100), WakePolicy::prompt_waits);
  blocking.wait_after_ns = 50'000;
  EXPECT_EQ(blocking.run(policy, 2), 1); // known one epoch later
}

// Where Wait has nothing to do itself, as while another rank computes, the helper has to be called late each time that
// Start has left it asleep.
TEST(WakePolicy, SeldomLeftAsleepWhereWaitCallsIt) {
  WakePolicy policy;
  const auto left_asleep = [&](int epochs, bool calls) {
    int count = 0;
    for (int i = 0; i < epochs; ++i) {
      const bool woken = policy.start();
      policy.waited(200);
      if (!woken) {
        ++count;
        if (calls) {
          policy.slept();
        }
      }
      policy.finished(100'000, 50'000);
    }
    return count;
  };
  EXPECT_LE(left_asleep(10'000, true), 3 + (10'000 / WakePolicy::most_prompt_waits) + (5 * trial)); // in five trials
  // When that is over it soon comes at once again.
  EXPECT_GE(left_asleep(1000, false), 1000 - WakePolicy::most_prompt_waits);
  policy.waited(50'000);
  EXPECT_EQ(left_asleep(100, false), 100 - WakePolicy::prompt_waits);
}

// Blocking steps tell nothing about waking the helper, however much they vary.
TEST(WakePolicy, BlockingUseTeachesNothing) {
  WakePolicy policy;
  Application application{.woken_ns = 100'000, .left_ns = 100'000, .exchange_ns = 100'000, .wait_after_ns = 200};
  for (int i = 0; i < 500; ++i) {
    application.woken_ns = application.left_ns = i % 80 < 16 ? 100'000 : 50'000;
    application.run(policy, 1);
  }
  application.wait_after_ns = 50'000;
  application.run(policy, 1);
  EXPECT_EQ(application.run(policy, 100), 100);
}

TEST(WakePolicy, AlwaysMeansAlways) {
  WakePolicy policy(true);
  Application loses{.woken_ns = 740'000, .left_ns = 610'000, .exchange_ns = 100'000, .wait_after_ns = 200};
  EXPECT_EQ(loses.run(policy, 1000), 1000);
}

} // namespace
} // namespace stoker::engine
