// SPDX-License-Identifier: BSD-3-Clause
// The submission ring: order, wrap-around, full, and sums across threads and processes.
#include "engine/shared/ring.hpp"

#include "engine/shared/arena.hpp"
#include "tests/engine/watchdog.hpp"

#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace stoker::engine {
namespace {

class Ring : public test::WithWatchdog {};

TEST_F(Ring, FullAtItsCapacityAndNothingIsLost) {
  const auto ring = std::make_unique<SubmissionRing>();
  EXPECT_TRUE(ring->empty());
  for (std::uint64_t i = 0; i < SubmissionRing::capacity; ++i) {
    ASSERT_TRUE(ring->push({i, i + 1}));
  }
  EXPECT_FALSE(ring->empty());
  EXPECT_FALSE(ring->push({999, 999}));
  // Room for one after one was taken.
  EXPECT_EQ(ring->drain([](Submission s) { EXPECT_EQ(s.block, 0u); }, 1), 1u);
  EXPECT_TRUE(ring->push({SubmissionRing::capacity, SubmissionRing::capacity + 1}));
  EXPECT_FALSE(ring->push({999, 999}));
  std::uint64_t expected = 1;
  const auto in_order = [&](Submission s) {
    EXPECT_EQ(s.block, expected);
    EXPECT_EQ(s.epoch, expected + 1);
    ++expected;
  };
  EXPECT_EQ(ring->drain(in_order, 1000), SubmissionRing::capacity);
  EXPECT_EQ(expected, SubmissionRing::capacity + 1);
  EXPECT_EQ(ring->drain(in_order, 1000), 0u);
  EXPECT_TRUE(ring->empty());
}

TEST_F(Ring, WhoIsCalledFindsTheEntriesBeforeTheCall) {
  constexpr std::uint64_t entries = 20000;
  const auto ring = std::make_unique<SubmissionRing>();
  EXPECT_FALSE(ring->take_call());
  std::thread producer([&] {
    for (std::uint64_t i = 1; i <= entries; ++i) {
      while (!ring->push({i, i})) {
        ring->call();
        std::this_thread::yield();
      }
      if (i % 3 == 0 || i == entries) {
        ring->call();
      }
    }
  });
  for (std::uint64_t last = 0; last < entries;) {
    if (ring->take_call()) {
      ring->drain([&](Submission s) { EXPECT_EQ(s.block, ++last); }, SubmissionRing::capacity);
    } else {
      std::this_thread::yield();
    }
  }
  producer.join();
  EXPECT_TRUE(ring->empty());
}

TEST_F(Ring, WrapsAroundAtEveryFillLevel) {
  for (std::uint64_t fill = 1; fill <= SubmissionRing::capacity; ++fill) {
    SubmissionRing ring;
    std::uint64_t pushed = 0;
    std::uint64_t popped = 0;
    for (int round = 0; round < 6; ++round) {
      for (std::uint64_t i = 0; i < fill; ++i) {
        ASSERT_TRUE(ring.push({pushed, ~pushed}));
        ++pushed;
      }
      // In bounded batches.
      while (popped < pushed) {
        const std::optional<std::size_t> taken = ring.drain(
            [&](Submission s) {
              EXPECT_EQ(s.block, popped);
              EXPECT_EQ(s.epoch, ~popped);
              ++popped;
            },
            7);
        ASSERT_GE(taken, 1u);
        ASSERT_LE(taken, 7u);
      }
    }
  }
}

// What the producer writes before a push must be visible to the consumer: plain memory, so that ThreadSanitizer looks
// too.
TEST_F(Ring, SumsAgreeBetweenThreads) {
  constexpr std::uint64_t count = 400'000;
  const auto ring = std::make_unique<SubmissionRing>();
  std::vector<std::uint64_t> payload(count);
  std::uint64_t refused = 0;
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      payload[i] = i * i;
      while (!ring->push({i, i + 1})) {
        ++refused;
        std::this_thread::yield();
      }
    }
  });
  std::uint64_t next = 0;
  std::uint64_t sum = 0;
  while (next < count) {
    const auto consume = [&](Submission s) {
      EXPECT_EQ(s.block, next);
      EXPECT_EQ(s.epoch, next + 1);
      sum += payload[s.block];
      ++next;
    };
    if (ring->drain(consume, 64) == 0) {
      std::this_thread::yield();
    }
  }
  producer.join();
  EXPECT_EQ(sum, (count - 1) * count * (2 * count - 1) / 6);
  RecordProperty("refused_pushes", std::to_string(refused));
}

TEST_F(Ring, SumsAgreeBetweenProcesses) {
  constexpr std::uint64_t count = 300'000;
  Arena arena({.bytes = 1 << 20});
  const std::uint64_t at = arena.allocate(sizeof(SubmissionRing), alignof(SubmissionRing));
  auto* ring = new (arena.at<void>(at)) SubmissionRing;
  const pid_t child = test::fork_child([&, descriptor = arena.descriptor()] {
    const Mapping mapped = attach_arena(descriptor, 0);
    auto* other = mapped.at<SubmissionRing>(at);
    for (std::uint64_t i = 1; i <= count; ++i) {
      while (!other->push({i, 3 * i})) {
        std::this_thread::yield();
      }
    }
    return 0;
  });
  ASSERT_GT(child, 0);
  std::uint64_t received = 0;
  std::uint64_t sum = 0;
  while (received < count) {
    if (ring->drain(
            [&](Submission s) {
              sum += s.block + s.epoch;
              ++received;
            },
            32) == 0) {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(test::join_child(child), 0);
  EXPECT_EQ(sum, 4 * (count * (count + 1) / 2));
  EXPECT_TRUE(ring->empty());
}

} // namespace
} // namespace stoker::engine
