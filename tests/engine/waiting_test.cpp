// SPDX-License-Identifier: BSD-3-Clause
// The loop in which a thread of the application waits.
#include "engine/helper/waiting.hpp"

#include "tests/engine/watchdog.hpp"

#include <cstdint>
#include <stdexcept>

namespace stoker::engine {
namespace {

class WaitingTest : public test::WithWatchdog {};

constexpr std::uint64_t long_wait_ns = 50'000'000;

// Others' work moves on without an end, and what this thread waits for does not come: who is gone is noticed all
// the same.
TEST_F(WaitingTest, LooksAroundWhereMuchMoves) {
  std::uint64_t waited = 0;
  wait_until_done(WaitSite{}, Waiter([&] { return waited != 0; }, [] { return true; }, {}, Nothing{},
                                     [&](std::uint64_t waited_ns) { waited = waited_ns; }));
  EXPECT_GE(waited, long_wait_ns);
}

TEST_F(WaitingTest, CallsForHelpAndLooksAroundWhereNothingMoves) {
  std::uint64_t waited = 0;
  int calls = 0;
  wait_until_done(WaitSite{}, Waiter([&] { return waited != 0; }, [] { return false; }, {}, [&] { ++calls; },
                                     [&](std::uint64_t waited_ns) { waited = waited_ns; }));
  EXPECT_GE(waited, long_wait_ns);
  EXPECT_GT(calls, 0);
}

TEST_F(WaitingTest, EndsWithWhatTheLookThrows) {
  const auto lost = [](std::uint64_t /*waited_ns*/) { throw std::runtime_error("a peer is gone"); };
  for (const bool moves : {true, false}) {
    EXPECT_THROW(wait_until_done(WaitSite{}, Waiter([] { return false; }, [&] { return moves; }, {}, Nothing{}, lost)),
                 std::runtime_error);
    EXPECT_FALSE(wait_goes_on);
  }
}

} // namespace
} // namespace stoker::engine
