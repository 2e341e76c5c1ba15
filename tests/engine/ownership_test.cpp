// SPDX-License-Identifier: BSD-3-Clause
// Ownership: mutual exclusion, and the life of a block between a rank that assists and its helper, on real threads.
// What only the holder may touch is plain memory, so that ThreadSanitizer judges too.
#include "engine/shared/ownership.hpp"

#include "engine/shared/doorbell.hpp"
#include "engine/shared/ring.hpp"
#include "tests/engine/watchdog.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace stoker::engine {
namespace {

class OwnershipTest : public test::WithWatchdog {};

TEST_F(OwnershipTest, OneHolderAtATime) {
  Ownership word;
  EXPECT_EQ(word.owner(), Ownership::nobody);
  EXPECT_TRUE(word.try_acquire(7));
  EXPECT_EQ(word.owner(), 7u);
  EXPECT_FALSE(word.try_acquire(8));
  EXPECT_FALSE(word.try_acquire(7)) << "not recursive";
  EXPECT_EQ(word.owner(), 7u);
  word.release();
  EXPECT_TRUE(word.try_acquire(8));
  word.release();
  EXPECT_EQ(word.owner(), Ownership::nobody);
}

TEST_F(OwnershipTest, ExcludesOthers) {
  constexpr std::uint64_t turns = 20'000;
  constexpr std::uint32_t executors = 4;
  Ownership word;
  std::uint64_t counter = 0; // guarded by word
  std::vector<std::thread> threads;
  for (std::uint32_t id = 1; id <= executors; ++id) {
    threads.emplace_back([&, id] {
      for (std::uint64_t turn = 0; turn < turns;) {
        if (word.try_acquire(id)) {
          ++counter;
          ++turn;
          word.release();
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(counter, turns * executors);
}

// A request's block in small: steps that only the holder executes, and the words of its life.
struct TestBlock {
  static constexpr std::uint64_t steps = 3;
  // Constant while the request lives; overwritten when the memory is used anew.
  std::uint64_t request = 0;
  // Guarded by the ownership.
  std::uint64_t started = 0; // the newest epoch whose steps have begun
  std::uint64_t steps_left = 0;
  std::uint64_t executed = 0;

  std::atomic<std::uint64_t> announced{0}; // the newest epoch that the rank has started
  std::atomic<std::uint64_t> submitted{0}; // the newest epoch that its entry in the ring stands for; 0: it has none
  CompletionWord completed;
  Ownership ownership;
  std::atomic<std::uint64_t> retired{0};
};

// Executes one step if the ownership is free; returns whether it was.
bool advance(TestBlock& block, std::uint32_t executor, Doorbell& rank_bell) {
  if (!block.ownership.try_acquire(executor)) {
    return false;
  }
  const std::uint64_t announced = block.announced.load(std::memory_order_acquire);
  if (block.steps_left == 0 && block.started < announced) {
    block.started = announced;
    block.steps_left = TestBlock::steps;
  }
  bool finished = false;
  if (block.steps_left > 0) {
    ++block.executed;
    finished = --block.steps_left == 0;
  }
  const std::uint64_t epoch = block.started;
  // The block outlives its completion until the helper retires it, so it may be touched after the publication.
  if (finished) {
    block.completed.publish(epoch, rank_bell);
  }
  block.ownership.release();
  return true;
}

// One rank, several blocks that it starts, waits for (assisting or asleep), frees and uses anew; one helper that may
// find an entry long after its epoch is over.
TEST_F(OwnershipTest, NoAccessToABlockThatIsUsedAnew) {
  constexpr std::uint64_t requests = 2000;
  constexpr std::size_t slots = 3;
  std::array<TestBlock, slots> blocks;
  const auto ring = std::make_unique<SubmissionRing>();
  Doorbell helper_bell;
  Doorbell rank_bell;
  constexpr std::uint64_t stop = ~std::uint64_t{0};

  std::thread helper([&] {
    std::array<std::uint64_t, slots> listed{}; // the newest epoch popped; 0: not listed
    bool stopping = false;
    while (!stopping) {
      ring->drain(
          [&](Submission s) {
            if (s.epoch == stop) {
              stopping = true;
            } else {
              listed[s.block] = blocks[s.block].submitted.exchange(0, std::memory_order_acq_rel);
            }
          },
          4);
      bool any = false;
      for (std::size_t i = 0; i < slots; ++i) {
        if (listed[i] == 0) {
          continue;
        }
        TestBlock& block = blocks[i];
        advance(block, 1, rank_bell);
        if (block.ownership.try_acquire(1)) {
          const bool over = block.completed.reached(listed[i]);
          block.ownership.release();
          if (over) {
            block.retired.store(std::exchange(listed[i], 0), std::memory_order_release); // the last access
          }
        }
        any = any || listed[i] != 0;
      }
      if (any) {
        std::this_thread::yield();
      } else if (!stopping) {
        helper_bell.sleep([&] { return !ring->empty(); }, std::nullopt);
      }
    }
  });

  std::uint64_t epochs = 0;
  std::uint64_t executed = 0;
  std::uint64_t seed = 1;
  for (std::uint64_t request = 1; request <= requests; ++request) {
    const std::size_t slot = request % slots;
    TestBlock& block = blocks[slot];
    // The memory's former request may be over for the rank but not for the helper.
    const std::uint64_t former = block.announced.load(std::memory_order_relaxed);
    while (block.retired.load(std::memory_order_acquire) != former) {
      std::this_thread::yield();
    }
    executed += block.executed;
    std::destroy_at(&block);
    std::construct_at(&block);
    block.request = request;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t last = 1 + (seed >> 33) % 4;
    for (std::uint64_t epoch = 1; epoch <= last; ++epoch) {
      block.announced.store(epoch, std::memory_order_release);
      if (block.submitted.exchange(epoch, std::memory_order_acq_rel) == 0) {
        while (!ring->push({slot, epoch})) {
          std::this_thread::yield();
        }
      }
      helper_bell.ring();
      ++epochs;
      if ((seed >> (40 + epoch)) % 2 == 0) {
        while (!block.completed.reached(epoch)) {
          if (!advance(block, 2, rank_bell)) {
            std::this_thread::yield(); // the helper may want this core to go on
          }
        }
      } else {
        block.completed.wait_for(epoch, rank_bell, std::nullopt);
      }
    }
  }
  while (!ring->push({0, stop})) {
    std::this_thread::yield();
  }
  helper_bell.ring();
  helper.join();
  for (const TestBlock& block : blocks) {
    executed += block.executed;
  }
  EXPECT_EQ(executed, TestBlock::steps * epochs);
}

} // namespace
} // namespace stoker::engine
