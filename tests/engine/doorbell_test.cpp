// SPDX-License-Identifier: BSD-3-Clause
// Doorbell and completion word: a wake-up that is lost leaves a sleeper without a time limit, and the watchdog ends it.
#include "engine/shared/doorbell.hpp"

#include "engine/shared/arena.hpp"
#include "engine/shared/ring.hpp"
#include "tests/engine/watchdog.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <vector>

namespace stoker::engine {
namespace {

using namespace std::chrono_literals;

class DoorbellTest : public test::WithWatchdog {};
class CompletionTest : public test::WithWatchdog {};

// A helper and a rank that take turns, both asleep whenever they may be: no later event makes up for a lost wake-up.
struct Pair {
  SubmissionRing ring;
  Doorbell helper;
  Doorbell rank;
  CompletionWord completed;
};

constexpr std::uint64_t last_epoch = ~std::uint64_t{0};

// Submits epochs one by one for `duration` and returns how many. The helper looks for work once after it has published,
// announces its sleep and looks again; the delay before the next push is swept over that moment, and so is the rank's
// own way to sleep.
std::uint64_t submit_and_wait(Pair& pair, std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  std::uint64_t epoch = 0;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100; ++i) {
      ++epoch;
      for (std::uint64_t delay = epoch * 7 % 128; delay > 0; --delay) {
        std::atomic_signal_fence(std::memory_order_seq_cst); // keeps the empty loop
      }
      pair.ring.push({epoch, epoch});
      epoch % 2 == 0 ? pair.helper.nudge() : pair.helper.ring(); // the same to a helper that sleeps without a limit
      for (std::uint64_t spin = epoch % 8 * 300; spin > 0 && !pair.completed.reached(epoch); --spin) {
      }
      pair.completed.wait_for(epoch, pair.rank, std::nullopt);
    }
  }
  pair.ring.push({0, last_epoch});
  pair.helper.ring();
  return epoch;
}

// Serves until told to end; returns the number of epochs, or nothing when one was out of order.
std::optional<std::uint64_t> serve(Pair& pair) {
  std::uint64_t served = 0;
  bool good = true;
  bool end = false;
  while (!end) {
    pair.ring.drain(
        [&](Submission s) {
          if (s.epoch == last_epoch) {
            end = true;
            return;
          }
          good = good && s.epoch == ++served;
          pair.completed.publish(s.epoch, pair.rank);
        },
        8);
    if (!end) {
      pair.helper.sleep([&] { return !pair.ring.empty(); }, std::nullopt);
    }
  }
  return good ? std::optional(served) : std::nullopt;
}

TEST_F(DoorbellTest, NoWakeUpIsLostBetweenThreads) {
  const auto pair = std::make_unique<Pair>();
  std::optional<std::uint64_t> served;
  std::thread helper([&] { served = serve(*pair); });
  const std::uint64_t submitted = submit_and_wait(*pair, 2000ms);
  helper.join();
  EXPECT_EQ(served, submitted);
  RecordProperty("epochs", std::to_string(submitted));
}

TEST_F(DoorbellTest, NoWakeUpIsLostBetweenProcesses) {
  Arena arena({.bytes = 1 << 20});
  const std::uint64_t at = arena.allocate(sizeof(Pair), alignof(Pair));
  auto* pair = new (arena.at<void>(at)) Pair;
  const pid_t child = test::fork_child([&, descriptor = arena.descriptor()] {
    const Mapping mapped = attach_arena(descriptor, 0);
    return serve(*mapped.at<Pair>(at)) ? 0 : 1;
  });
  ASSERT_GT(child, 0);
  const std::uint64_t submitted = submit_and_wait(*pair, 2000ms);
  EXPECT_EQ(test::join_child(child), 0);
  EXPECT_EQ(pair->completed.epoch(), submitted);
  RecordProperty("epochs", std::to_string(submitted));
}

// Several ranks, each with its ring, ring one helper's bell.
TEST_F(DoorbellTest, OneHelperHearsSeveralRanks) {
  constexpr std::uint64_t epochs = 4000;
  constexpr int ranks = 3;
  struct Rank {
    SubmissionRing ring;
    Doorbell bell;
    CompletionWord completed;
  };
  std::vector<std::unique_ptr<Rank>> all;
  for (int r = 0; r < ranks; ++r) {
    all.push_back(std::make_unique<Rank>());
  }
  Doorbell helper_bell;
  std::vector<std::thread> threads;
  for (auto& rank : all) {
    threads.emplace_back([&helper_bell, &rank = *rank] {
      for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
        rank.ring.push({0, epoch});
        helper_bell.ring();
        rank.completed.wait_for(epoch, rank.bell, std::nullopt);
      }
    });
  }
  const auto has_work = [&] {
    for (const auto& rank : all) {
      if (!rank->ring.empty()) {
        return true;
      }
    }
    return false;
  };
  std::uint64_t served = 0;
  while (served < epochs * ranks) {
    for (auto& rank : all) {
      served += rank->ring.drain([&](Submission s) { rank->completed.publish(s.epoch, rank->bell); }, 4).value();
    }
    if (served < epochs * ranks) {
      helper_bell.sleep(has_work, std::nullopt);
    }
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(served, epochs * ranks);
  EXPECT_FALSE(helper_bell.asleep());
}

TEST_F(DoorbellTest, RingMakesASystemCallOnlyForASleeper) {
  Doorbell bell;
  EXPECT_FALSE(bell.asleep());
  EXPECT_FALSE(bell.ring());
  std::thread sleeper([&] { bell.sleep([] { return false; }, std::nullopt); });
  while (!bell.asleep()) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(bell.ring());
  while (bell.asleep()) { // the first one may have come before it really slept
    bell.ring();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  sleeper.join();
  EXPECT_FALSE(bell.asleep());
  EXPECT_FALSE(bell.ring());
}

TEST_F(DoorbellTest, ANudgeLeavesANapAlone) {
  Doorbell bell;
  EXPECT_FALSE(bell.nudge());
  std::thread napper([&] { bell.sleep([] { return false; }, 1h); });
  while (!bell.asleep()) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(bell.nudge());
  EXPECT_TRUE(bell.asleep());
  // The announcement comes before the look at the futex word, so the first ring may come too early to end the nap.
  while (bell.asleep()) {
    EXPECT_TRUE(bell.ring() || !bell.asleep());
    std::this_thread::sleep_for(1ms);
  }
  napper.join();
}

TEST_F(DoorbellTest, RingWakesEverySleeper) {
  Doorbell bell;
  std::atomic<bool> go{false};
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 4; ++i) {
    sleepers.emplace_back([&] {
      while (!go.load(std::memory_order_acquire)) {
        bell.sleep([&] { return go.load(std::memory_order_relaxed); }, std::nullopt);
      }
    });
  }
  while (!bell.asleep()) {
    std::this_thread::yield();
  }
  go.store(true, std::memory_order_release);
  bell.ring();
  for (auto& sleeper : sleepers) {
    sleeper.join();
  }
  EXPECT_FALSE(bell.asleep());
}

TEST_F(DoorbellTest, DoesNotSleepOnWorkThatIsThere) {
  Doorbell bell;
  int looks = 0;
  bell.sleep([&] { return ++looks > 0; }, std::nullopt);
  EXPECT_EQ(looks, 1);
  EXPECT_FALSE(bell.asleep());
}

TEST_F(DoorbellTest, TimeoutEndsASleepThatNobodyEnds) {
  Doorbell bell;
  const auto begin = std::chrono::steady_clock::now();
  bell.sleep([] { return false; }, 3ms);
  // Not an assertion about speed: it may be late, never early (a signal could cut it short, none is sent here).
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 3ms);
  bell.sleep([] { return false; }, 0ns);
  EXPECT_FALSE(bell.asleep());
}

TEST_F(DoorbellTest, OutlivesASleeperThatIsKilled) {
  Arena arena({.bytes = 1 << 20});
  const std::uint64_t at = arena.allocate(sizeof(Pair), alignof(Pair));
  auto* pair = new (arena.at<void>(at)) Pair;
  const pid_t victim = test::fork_child([&] {
    pair->helper.sleep([] { return false; }, std::nullopt);
    return 0;
  });
  ASSERT_GT(victim, 0);
  while (!pair->helper.asleep()) {
    std::this_thread::yield();
  }
  kill(victim, SIGKILL);
  EXPECT_EQ(test::join_child(victim), -1);
  // The dead sleeper stays counted, which costs a needless wake; the living are served.
  std::optional<std::uint64_t> served;
  std::thread helper([&] { served = serve(*pair); });
  const std::uint64_t submitted = submit_and_wait(*pair, 50ms);
  helper.join();
  EXPECT_EQ(served, submitted);
}

TEST_F(CompletionTest, ReachedFromThePublishedEpochDown) {
  Doorbell bell;
  CompletionWord completed;
  EXPECT_TRUE(completed.reached(0));
  EXPECT_FALSE(completed.reached(1));
  EXPECT_FALSE(completed.publish(2, bell));
  EXPECT_EQ(completed.epoch(), 2u);
  EXPECT_TRUE(completed.reached(1));
  EXPECT_TRUE(completed.reached(2));
  EXPECT_FALSE(completed.reached(3));
  EXPECT_TRUE(completed.wait_for(2, bell, std::nullopt));
}

TEST_F(CompletionTest, WaitGivesUpAtItsTimeLimit) {
  Doorbell bell;
  CompletionWord completed;
  EXPECT_FALSE(completed.wait_for(1, bell, 2ms));
  EXPECT_FALSE(completed.wait_for(1, bell, 0ns));
  completed.publish(1, bell);
  EXPECT_TRUE(completed.wait_for(1, bell, 0ns));
}

// Results written before publish are plain memory.
TEST_F(CompletionTest, PublishesWhatWasWrittenBefore) {
  constexpr std::uint64_t epochs = 3000;
  Doorbell bell;
  CompletionWord completed;
  std::vector<std::uint64_t> results(epochs + 1);
  std::thread executor([&] {
    for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
      results[epoch] = 3 * epoch;
      completed.publish(epoch, bell);
      if (epoch % 50 == 0) {
        std::this_thread::yield();
      }
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    EXPECT_TRUE(completed.wait_for(epoch, bell, std::nullopt));
    wrong += results[epoch] != 3 * epoch;
  }
  executor.join();
  EXPECT_EQ(wrong, 0u);
}

} // namespace
} // namespace stoker::engine
