// SPDX-License-Identifier: BSD-3-Clause
// Rounds of helpers without their threads: submissions that are found late, work that a rank has done before, and the
// times that a helper notes, by a clock that stands still until the test moves it.
#include "engine/helper/program_poller.hpp"
#include "fake_clock.hpp"
#include "rig.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stoker::engine {
namespace {

using topology::Layout;

void finish_all(Rig& rig) {
  for (int rank = 0; rank < rig.ranks(); ++rank) {
    ASSERT_TRUE(rig.done(rank)) << rank;
    ASSERT_NO_FATAL_FAILURE(rig.finish(rank));
  }
}

TEST(HelperByHand, ASubmissionThatIsFoundLateDelaysAndNothingElse) {
  const WholeCollective collective = whole_alltoall(Layout::uniform(4, 2), 1000);
  Rig rig({}, collective);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for (int rank = 0; rank < rig.ranks(); ++rank) {
      rig.start(rank);
    }
    // The helper of the second node sleeps: nobody has woken it.
    for (int round = 0; round < 10; ++round) {
      (void)rig.poll(0);
      rig.network.arrive_all();
    }
    for (int rank = 0; rank < rig.ranks(); ++rank) {
      EXPECT_FALSE(rig.done(rank)) << rank;
    }
    rig.run_dry();
    ASSERT_NO_FATAL_FAILURE(finish_all(rig));
  }
  rig.expect_at_rest();
}

// On one node ranks can do all of their work themselves; the helper finds entries of epochs that are long over.
TEST(HelperByHand, WhatTheRanksHaveDoneThemselvesIsNotDoneAgain) {
  const WholeCollective collective = whole_alltoall(Layout::uniform(2, 2), 1000);
  Rig rig({.layout = Layout::uniform(2, 2)}, collective);
  constexpr int epochs = 5;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    rig.start(0);
    rig.start(1);
    while (rig.assist(0) || rig.assist(1)) {
    }
    ASSERT_NO_FATAL_FAILURE(finish_all(rig));
  }
  EXPECT_FALSE(reclaimable(rig.memory(0), rig.block(0), epochs, true)) << "the helper has yet to look at it";
  rig.run_dry();
  EXPECT_TRUE(reclaimable(rig.memory(0), rig.block(0), epochs, true)) << "one entry of the ring stands for all epochs";
  rig.expect_at_rest();
  EXPECT_TRUE(rig.right(0) && rig.right(1)) << "what they have ended with is touched no more";
}

// A peer that has no part left in the epoch may have freed its request by then, and its memory may hold anything.
TEST(HelperByHand, WhatIsFoundWhenItIsLongOverIsNoReasonToLookAtItsPeers) {
  const WholeCollective collective = whole_alltoall(Layout::uniform(2, 2), 1000);
  Rig rig({.layout = Layout::uniform(2, 2)}, collective);
  rig.start(0);
  rig.start(1);
  while (rig.assist(0) || rig.assist(1)) {
  }
  ASSERT_NO_FATAL_FAILURE(finish_all(rig));
  rig.run_dry();
  const std::uint32_t arena = std::exchange(rig.block(1).arena, 1'000'000'000);
  const std::vector<std::shared_ptr<Window>> no_windows;
  ProgramPoller late(rig.memory(0), {&rig.network.endpoint(0), 0}, no_windows);
  rig.block(0).retired.store(0);
  rig.block(0).submitted.store(1);
  late.adopt(rig.memory(0).self(), {.block = rig.block_offset(0)}, 0);
  EXPECT_FALSE(late.poll()) << "there is nothing to do";
  EXPECT_FALSE(late.state().active);
  EXPECT_TRUE(reclaimable(rig.memory(0), rig.block(0), 1, true));
  rig.block(1).arena = arena;
  rig.expect_at_rest();
}

// A request that lives on, and many that come and go, each at another place: what the helper remembers of these goes.
TEST(HelperByHand, WhatBlocksLeaveBehindDoesNotGrowWithTheirNumber) {
  NodeMemory memory(std::uint64_t{64} << 20U, -1);
  const std::vector<NodeMemory::Introduction> introductions{memory.introduction()};
  memory.attach(0, introductions);
  InProcessNetwork network(1, 0);
  const std::vector<std::shared_ptr<Window>> no_windows;
  ProgramPoller poller(memory, {&network.endpoint(0), 0}, no_windows);
  std::uint64_t id = 0;
  const auto new_block = [&] {
    const std::uint64_t offset = memory.arena().allocate(sizeof(Block), alignof(Block));
    LoweredProgram empty;
    empty.place = offset;
    empty.id = ++id;
    write_program(empty, *new (memory.arena().at<Block>(offset)) Block());
    return offset;
  };
  const auto run = [&](std::uint64_t offset, std::uint64_t epoch) { // which the rank completes by itself
    Block& block = *memory.arena().at<Block>(offset);
    block.completed.publish(epoch);
    block.submitted.store(epoch);
    poller.adopt(0, {.block = offset}, 0);
    (void)poller.poll();
    EXPECT_TRUE(reclaimable(memory, block, epoch, true));
  };
  const std::uint64_t lasting = new_block();
  const std::uint64_t pending = new_block(); // its epoch never ends
  memory.arena().at<Block>(pending)->ownership.try_acquire(rank_executor);
  memory.arena().at<Block>(pending)->submitted.store(1);
  poller.adopt(0, {.block = pending}, 0);
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    offsets.push_back(new_block());
    run(offsets.back(), 1);
    run(lasting, i);
    memory.arena().at<Block>(offsets.back())->magic = 0; // as when it is given back, but its place is not used again
    memory.root(0).blocks_given_back.fetch_add(1);
    ASSERT_LE(poller.tasks(), 200u);
  }
  // Blocks that are in use are all remembered.
  for (int i = 0; i < 1000; ++i) {
    offsets.push_back(new_block());
    run(offsets.back(), 1);
  }
  EXPECT_GE(poller.tasks(), 1000u);
  EXPECT_TRUE(poller.state().active) << "the pending epoch";
}

TEST(HelperByHand, AssistsAndRoundsInManyOrders) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Layout layout = Layout::uniform(6, 3);
    const WholeCollective collective = whole_alltoall(layout, seed % 2 == 0 ? 16 : 300);
    Rig rig({.layout = layout, .piece_bytes = seed % 3 == 0 ? 100U : 0U, .batch = 1 + (seed % 3)}, collective);
    ASSERT_NO_FATAL_FAILURE(rig.run(random, 5));
    rig.expect_at_rest();
  }
}

TEST(HelperByHand, TestsAloneBringExchangesToTheirEnd) {
  const WholeCollective collective = whole_alltoall(Layout::uniform(4, 2), 1000);
  Rig rig({}, collective);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    for (int rank = 0; rank < rig.ranks(); ++rank) {
      rig.start(rank);
    }
    for (int round = 0; round < 100; ++round) {
      (void)rig.test(0);
      (void)rig.test(2);
      rig.network.arrive_all();
    }
    ASSERT_NO_FATAL_FAILURE(finish_all(rig));
  }
  rig.expect_at_rest();
}

// The helper's thread keeps out of the way as long as tests come, and no longer. Tests that are not believed, or
// always, end in the time limit of all tests.
TEST(HelperByHand, ItsThreadLeavesTheWorkToTestsWhileTheyKeepComing) {
  const WholeCollective collective = whole_alltoall(Layout::uniform(2, 2), 1000);
  Rig rig({.layout = Layout::uniform(2, 2)}, collective);
  rig.helper(0).start();
  for (int epoch = 1; epoch <= 3; ++epoch) {
    while (!rig.helper(0).driven_by_tests()) {
      (void)rig.test(0);
      std::this_thread::yield();
    }
    rig.start(0);
    rig.start(1);
    while (!rig.done(0) || !rig.done(1)) { // nobody tests any more
      std::this_thread::yield();
    }
    ASSERT_NO_FATAL_FAILURE(finish_all(rig));
    while (rig.helper(0).driven_by_tests()) {
      std::this_thread::yield();
    }
  }
  rig.helper(0).stop();
  rig.run_dry();
  rig.expect_at_rest();
}

// There is something to do from its first round to its second.
class TwoRounds final : public Poller {
public:
  explicit TwoRounds(std::atomic<int>& rounds) : rounds_(rounds) {}
  void adopt(std::uint32_t /*arena*/, const Submission& /*submission*/, std::uint64_t /*now_ns*/) override {}
  bool poll() override { return ++rounds_ < 2; }
  [[nodiscard]] PollerState state() const override { return {.active = rounds_ == 1}; }

private:
  std::atomic<int>& rounds_;
};

// The helper's thread sleeps for good when a test begins something, and no test comes after that. A thread that sleeps
// on ends in the time limit of all tests.
TEST(HelperByHand, ItsThreadIsWokenForWhatTheLastTestHasLeft) {
  const WholeCollective collective = whole_alltoall(Layout::uniform(2, 2), 1000);
  Rig rig({.layout = Layout::uniform(2, 2)}, collective);
  fake_clock::set(10'000'000'000); // nothing was submitted lately
  std::atomic<int> rounds = 0;
  rig.helper(0).add(Submitted::operation, std::make_unique<TwoRounds>(rounds));
  rig.helper(0).start();
  while (!rig.memory(0).root(0).helper.asleep()) {
    std::this_thread::yield();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(10)); // from its announcement to its sleep
  (void)rig.test(0);
  while (rounds < 2) {
    std::this_thread::yield();
  }
  rig.helper(0).stop();
}

// A thread in the helper's place may get a round every few milliseconds only, on a core that others want.
TEST(HelperByHand, SlowRoundsFindASubmissionWithoutACallSoon) {
  const WholeCollective collective = whole_alltoall(Layout::uniform(2, 2), 1000);
  Rig rig({.layout = Layout::uniform(2, 2)}, collective);
  std::uint64_t now = 10'000'000'000;
  fake_clock::set(now);
  std::atomic<int> rounds = 0;
  rig.helper(0).add(Submitted::operation, std::make_unique<TwoRounds>(rounds));
  ASSERT_TRUE(rig.memory(0).root(0).ring.push({.block = 0, .what = Submitted::operation}));
  int needed = 0;
  for (; !rig.memory(0).root(0).ring.empty() && needed < 1000; ++needed) {
    fake_clock::set(now += 4'000'000);
    (void)rig.helper(0).round();
  }
  EXPECT_LE(needed, 16);
}

TEST(HelperByHand, TimesAreThoseOfTheClock) {
  const WholeCollective collective = whole_alltoall(Layout::uniform(2, 1), 1000);
  Rig rig({.layout = Layout::uniform(2, 1), .timed = true}, collective);
  fake_clock::set(1'000);
  rig.start(0);
  rig.start(1);
  fake_clock::set(2'000);
  (void)rig.poll(0);
  (void)rig.poll(1);
  EXPECT_EQ(rig.block(0).wire_began_at, 2'000U);
  fake_clock::set(5'000);
  rig.network.arrive_all();
  (void)rig.poll(1);
  EXPECT_EQ(rig.block(1).wire_ended_at, 5'000U);
  EXPECT_EQ(rig.block(1).completed_at, 5'000U);
  fake_clock::set(7'000); // that one was late
  (void)rig.poll(0);
  EXPECT_EQ(rig.block(0).completed_at, 7'000U);
  ASSERT_NO_FATAL_FAILURE(finish_all(rig));
  rig.run_dry();
  rig.expect_at_rest();
}

} // namespace
} // namespace stoker::engine
