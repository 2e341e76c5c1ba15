// SPDX-License-Identifier: BSD-3-Clause
// Processes of the node that are gone: found by looks that are few, and not mistaken for others with their numbers.
#include "engine/shared/peer_watch.hpp"

#include "tests/engine/watchdog.hpp"

#include <vector>

namespace stoker::engine {
namespace {

class PeerWatchTest : public test::WithWatchdog {};

pid_t sleeper() {
  return test::fork_child([] {
    while (true) {
      pause();
    }
    return 0;
  });
}

// The parent has not waited for it yet.
void kill_only(pid_t child) {
  kill(child, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
}

TEST_F(PeerWatchTest, AKilledProcessIsGoneBeforeAndAfterItsParentKnows) {
  const pid_t child = sleeper();
  const ProcessId process = process_of(child);
  EXPECT_GT(process.began, 0u);
  EXPECT_FALSE(is_gone(process));
  EXPECT_FALSE(is_gone(process_of(getpid())));
  kill_only(child);
  EXPECT_TRUE(is_gone(process));
  test::join_child(child);
  EXPECT_TRUE(is_gone(process));
}

TEST_F(PeerWatchTest, AnotherProcessWithTheNumberIsNotTheSame) {
  const pid_t child = sleeper();
  ProcessId earlier = process_of(child);
  earlier.began -= 1;
  EXPECT_TRUE(is_gone(earlier));
  earlier.began = 0; // where the system did not tell
  EXPECT_FALSE(is_gone(earlier));
  kill(child, SIGKILL);
  test::join_child(child);
}

TEST_F(PeerWatchTest, LooksOncePerInterval) {
  PeerWatch watch;
  const pid_t child = sleeper();
  watch.add(process_of(getpid()));
  watch.add(process_of(child));
  std::uint64_t now = 1'000'000'000;
  watch.look(now);
  EXPECT_FALSE(watch.gone(1));
  kill_only(child);
  watch.look(now + PeerWatch::interval_ns - 1); // for another request, say
  EXPECT_FALSE(watch.gone(1));
  watch.look(now + PeerWatch::interval_ns);
  EXPECT_TRUE(watch.gone(1));
  EXPECT_FALSE(watch.gone(0));
  test::join_child(child);
}

TEST_F(PeerWatchTest, ManyProcessesHaveTheirTurns) {
  PeerWatch watch;
  const pid_t child = sleeper();
  const std::size_t count = (2 * PeerWatch::processes_at_a_time) + 1;
  for (std::size_t i = 0; i < count; ++i) {
    watch.add(process_of(i + 1 == count ? child : getpid()));
  }
  kill_only(child);
  std::uint64_t now = 0;
  for (const bool found : {false, false, true}) {
    watch.look(now += PeerWatch::interval_ns);
    EXPECT_EQ(watch.gone(count - 1), found);
  }
  EXPECT_FALSE(watch.gone(0));
  test::join_child(child);
}

} // namespace
} // namespace stoker::engine
