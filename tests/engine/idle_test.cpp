// SPDX-License-Identifier: BSD-3-Clause
// The idle policy against a clock made by hand, and the calls that prepare a helper's thread.
#include "engine/helper/idle.hpp"

#include "tests/engine/watchdog.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ostream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace stoker::engine {

// For the messages of failed expectations; looked up in the type's own namespace.
static std::ostream& operator<<(std::ostream& out, const Action& action) {
  return out << "kind " << static_cast<int>(action.kind) << ", nap " << action.nap_ns << " ns";
}

namespace {

using Kind = Action::Kind;

class IdleTest : public test::WithWatchdog {};

struct Round {
  std::uint64_t now_ns;
  bool progressed;
  Action expected;
  std::uint64_t age_ns = 0;   // of the youngest epoch
  std::uint64_t awake_ns = 0; // of the thread, since its last nap
};

void run(const IdleLimits& limits, const std::vector<Round>& rounds) {
  IdlePolicy policy(limits);
  for (const Round& round : rounds) {
    EXPECT_EQ(policy.next(round.progressed, round.now_ns, round.age_ns, round.awake_ns), round.expected)
        << "at " << round.now_ns;
  }
}

TEST_F(IdleTest, LingersWhereWorkComesSoonAfterWork) {
  IdlePolicy policy({.linger_ns = 1000});
  std::uint64_t now = 1'000'000;
  const auto work = [&](std::uint64_t after_ns) {
    now += after_ns;
    policy.work_begins(now);
    now += 50;
    policy.work_ends(now);
  };
  work(0);
  EXPECT_FALSE(policy.lingers(now + 1)); // the first work says nothing
  work(900);
  EXPECT_TRUE(policy.lingers(now + 999));
  EXPECT_FALSE(policy.lingers(now + 1000)); // in vain
  work(5000);
  EXPECT_FALSE(policy.lingers(now + 1));
  work(10);
  EXPECT_TRUE(policy.lingers(now + 1));
}

TEST_F(IdleTest, DoesNotNapInWorkThatCameSoon) {
  IdlePolicy policy({.nap_min_ns = 10, .nap_max_ns = 35, .linger_ns = 1000});
  const auto kind_after = [&](std::uint64_t begin, std::uint64_t quiet_ns) {
    policy.work_begins(begin);
    (void)policy.next(true, begin, 0, 0);
    const Action action = policy.next(false, begin + quiet_ns, quiet_ns, quiet_ns);
    policy.work_ends(begin + quiet_ns);
    (void)policy.lingers(begin + quiet_ns);
    return action.kind;
  };
  EXPECT_EQ(kind_after(100'000, 500), Kind::nap);
  EXPECT_EQ(kind_after(101'000, 500), Kind::yield);
  EXPECT_EQ(kind_after(102'000, 1500), Kind::nap);
}

TEST_F(IdleTest, SharedCoresAreNotLingeredOn) {
  IdlePolicy policy(IdleLimits::shared(20, 300));
  for (const std::uint64_t now : {1000U, 1010U, 1020U}) {
    policy.work_begins(now);
    policy.work_ends(now + 1);
    EXPECT_FALSE(policy.lingers(now + 2));
  }
}

TEST_F(IdleTest, StagesFollowTheTimeWithoutProgress) {
  const IdleLimits limits{.poll_ns = 100, .pause_ns = 200, .yield_ns = 300, .nap_min_ns = 10, .nap_max_ns = 35};
  constexpr std::uint64_t t0 = 1'000'000;
  run(limits, {
                  {t0, false, {Kind::poll, 0}}, // the first question begins the count
                  {t0 + 99, false, {Kind::poll, 0}},
                  {t0 + 100, false, {Kind::pause, 0}},
                  {t0 + 199, false, {Kind::pause, 0}},
                  {t0 + 200, false, {Kind::yield, 0}},
                  {t0 + 299, false, {Kind::yield, 0}},
                  {t0 + 300, false, {Kind::nap, 10}, 30}, // never shorter than the least
                  {t0 + 310, false, {Kind::nap, 20}, 80}, // a quarter of the age
                  {t0 + 330, false, {Kind::nap, 35}, 140},
                  {t0 + 365, false, {Kind::nap, 35}, 5600}, // never longer than the most
                  // Progress begins anew.
                  {t0 + 400, true, {Kind::poll, 0}, 5600},
                  {t0 + 499, false, {Kind::poll, 0}, 5600},
                  {t0 + 500, false, {Kind::pause, 0}, 5600},
                  {t0 + 700, false, {Kind::nap, 35}, 5600},
                  // A younger epoch shortens the naps at once.
                  {t0 + 701, false, {Kind::nap, 10}, 16},
                  // Not below what the thread has just been awake.
                  {t0 + 720, false, {Kind::nap, 20}, 16, 20},
                  {t0 + 780, false, {Kind::nap, 35}, 16, 60},
              });
}

TEST_F(IdleTest, ClockThatStepsBackIsNoProgressAndNoHarm) {
  const IdleLimits limits{.poll_ns = 0, .pause_ns = 100, .yield_ns = 100, .nap_min_ns = 10, .nap_max_ns = 10};
  run(limits, {{500, true, {Kind::poll, 0}}, {400, false, {Kind::pause, 0}}, {600, false, {Kind::nap, 10}}});
}

TEST_F(IdleTest, ReservedCoreSpinsLongerThanASharedOne) {
  const IdleLimits reserved = IdleLimits::reserved(20, 50);
  const IdleLimits shared = IdleLimits::shared(20, 50);
  run(reserved, {{0, true, {Kind::poll, 0}},
                 {4'999, false, {Kind::poll, 0}},
                 {5'000, false, {Kind::pause, 0}},
                 {20'000, false, {Kind::yield, 0}},
                 {40'000, false, {Kind::nap, 20'000}},
                 {160'000, false, {Kind::nap, 40'000}, 160'000},
                 {900'000, false, {Kind::nap, 50'000}, 900'000}});
  run(shared, {{0, true, {Kind::poll, 0}},
               {1, false, {Kind::pause, 0}},
               {2'499, false, {Kind::pause, 0}},
               {2'500, false, {Kind::nap, 20'000}},
               {8'000, false, {Kind::nap, 20'000}, 8'000}});
  // A nap is never longer than the setting, also where that is shorter than the first nap.
  run(IdleLimits::shared(0, 3),
      {{0, true, {Kind::poll, 0}}, {1, false, {Kind::nap, 3'000}}, {2, false, {Kind::nap, 3'000}}});
}

TEST_F(IdleTest, WithoutNapsItYields) {
  for (const IdleLimits& limits : {IdleLimits::reserved(1, 0), IdleLimits::shared(1, 0)}) {
    run(limits,
        {{0, true, {Kind::poll, 0}}, {1'000'000, false, {Kind::yield, 0}}, {2'000'000, false, {Kind::yield, 0}}});
  }
}

TEST_F(IdleTest, ANapEndsWhenTheDoorbellRings) {
  Doorbell bell;
  std::atomic<bool> work{false};
  std::thread helper([&] {
    while (!work.load()) {
      perform({Kind::nap, 1'000'000'000'000}, bell, [&] { return work.load(); });
    }
  });
  while (!bell.asleep()) {
    std::this_thread::yield();
  }
  work = true;
  bell.ring();
  helper.join(); // else the watchdog
}

TEST_F(IdleTest, TheOtherActionsReturn) {
  Doorbell bell;
  for (const Kind kind : {Kind::poll, Kind::pause, Kind::yield}) {
    perform({kind, 0}, bell, [] { return false; });
  }
  perform({Kind::nap, 1'000}, bell, [] { return false; });
  EXPECT_FALSE(bell.asleep());
}

TEST_F(IdleTest, PreparesItsOwnThreadOnly) {
  const int slack_before = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
  std::thread helper([] {
    ASSERT_TRUE(set_timer_slack(std::chrono::nanoseconds(1)));
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL), 1);
    errno = 0;
    const int nice_before = getpriority(PRIO_PROCESS, 0);
    const bool taken = set_short_slice(); // not on every kernel
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER) << "slice taken: " << taken;
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), nice_before);
  });
  helper.join();
  EXPECT_EQ(prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL), slack_before);
}

} // namespace
} // namespace stoker::engine
