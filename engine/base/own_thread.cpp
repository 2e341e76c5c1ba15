// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/own_thread.hpp"

#include "engine/base/error.hpp"

#include <csignal>
#include <exception>
#include <string>
#include <utility>

namespace stoker::engine {

// A thread begins with its creator's mask, so that is changed meanwhile: there is no moment without it.
std::thread own_thread(std::function<void()> run) {
  sigset_t blocked;
  sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    sigdelset(&blocked, fault);
  }
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  std::thread thread;
  std::string failure;
  try {
    thread = std::thread([run = std::move(run)] {
      pthread_setname_np(pthread_self(), "stoker");
      run();
    });
  } catch (const std::exception& error) { // of the system or of memory
    failure = error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!failure.empty()) {
    throw Error(Code::resource, "a thread could not be started: {}", failure);
  }
  return thread;
}

} // namespace stoker::engine
