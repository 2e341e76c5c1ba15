// SPDX-License-Identifier: BSD-3-Clause
// Threads of the engine's: the application's signals never meet them, and the lack of threads is an error.
#include "engine/base/own_thread.hpp"

#include "engine/base/error.hpp"
#include "tests/engine/watchdog.hpp"

#include <atomic>
#include <csignal>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace stoker::engine {
namespace {

class OwnThreadTest : public test::WithWatchdog {};

std::atomic<pid_t> handler_thread;

// The program has a handler for one signal and waits for another, whose default action would end it. It blocks that one
// after the thread was made. Both are sent to the process while the thread is the only one that could take them at
// once.
TEST_F(OwnThreadTest, SignalsOfTheProcessGoToTheApplicationsThreads) {
  std::atomic<bool> stop{false};
  std::thread thread = own_thread([&] {
    while (!stop) {
    }
  });
  struct sigaction action {};
  action.sa_handler = [](int) { handler_thread = gettid(); };
  sigaction(SIGUSR2, &action, nullptr);
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGUSR1);
  sigset_t both = awaited;
  sigaddset(&both, SIGUSR2);
  for (int i = 0; i < 1000; ++i) {
    pthread_sigmask(SIG_SETMASK, &both, nullptr);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    int number = 0;
    ASSERT_EQ(sigwait(&awaited, &number), 0);
    handler_thread = 0;
    pthread_sigmask(SIG_SETMASK, &awaited, nullptr);
    ASSERT_EQ(handler_thread, getpid());
  }
  stop = true;
  thread.join();
}

TEST_F(OwnThreadTest, TheCreatorsMaskIsAsBefore) {
  sigset_t before;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  own_thread([] {}).join();
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int number = 1; number < SIGRTMIN; ++number) {
    EXPECT_EQ(sigismember(&after, number), sigismember(&before, number)) << number;
  }
}

// The application may handle them: a fault that is blocked ends the process whatever the handler.
TEST_F(OwnThreadTest, FaultsOfTheThreadsOwnAreHandled) {
  const pid_t child = test::fork_child([] {
    struct sigaction action {};
    action.sa_handler = [](int) { _exit(0); };
    sigaction(SIGSEGV, &action, nullptr);
    void* const page = mmap(nullptr, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    own_thread([page] { *static_cast<volatile int*>(page) = 1; }).join();
    return 1;
  });
  EXPECT_EQ(test::join_child(child), 0);
}

TEST_F(OwnThreadTest, NoThreadToBeHadIsAnError) {
  const pid_t child = test::fork_child([] {
    if (geteuid() == 0 && setuid(65534) != 0) { // root may have any number
      return 2;
    }
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NPROC, &none);
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    try {
      own_thread([] {}).join();
      return 3;
    } catch (const Error& error) {
      sigset_t after;
      pthread_sigmask(SIG_SETMASK, nullptr, &after);
      return error.code() == Code::resource && sigismember(&after, SIGUSR1) == sigismember(&before, SIGUSR1) ? 0 : 1;
    }
  });
  EXPECT_EQ(test::join_child(child), 0);
}

} // namespace
} // namespace stoker::engine
