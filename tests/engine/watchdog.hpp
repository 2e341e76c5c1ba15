// SPDX-License-Identifier: BSD-3-Clause
// A bound for tests whose failure is a hang: the process is ended by SIGALRM, which is a failed test. For generous
// limits only. And a child process for tests that need a second one.
#pragma once

#include <csignal>
#include <cstdio>
#include <exception>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stoker::test {

constexpr unsigned watchdog_seconds = 120;

class WithWatchdog : public ::testing::Test {
protected:
  WithWatchdog() { alarm(watchdog_seconds); }
  ~WithWatchdog() override { alarm(0); }
};

// Runs `body` in a forked child, which ends with the status that it returns (100 for an exception).
template <class Body>
pid_t fork_child(Body body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(watchdog_seconds);
    int status = 100;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(status);
  }
  return child;
}

// The exit status of a child; -1 when a signal ended it.
inline int join_child(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace stoker::test
