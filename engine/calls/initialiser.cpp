// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/initialiser.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/spare_thread.hpp"
#include "engine/calls/put_off_starts.hpp"

#include <utility>

namespace stoker::engine {

// A start that has no thread to go on without the application is too late to refuse.
void Initialiser::have_threads() {
  PutOffStarts::of_process().have_thread();
  SpareThread::of_process().have();
}

// The thread finds what was added once this one gives the mutex back. Where it cannot be had the spare thread
// initialises all that there are. One for all communicators, it may wait for a rank that waits for an initialisation
// behind that: where threads are lacking, not every order of calls can be served.
void Initialiser::run_in_background() {
  if (attempt([this] { thread_.wake(); })) {
    ++spare_runs_;
    SpareThread::of_process().run([this] {
      run_here();
      const std::lock_guard lock(mutex_);
      --spare_runs_;
      spare_run_ended_.notify_all();
    });
  }
}

void Initialiser::run_here() {
  for (std::unique_lock lock(mutex_); run_next(lock) == OnDemandThread::Next::at_once;) {
  }
}

void Initialiser::end() {
  thread_.end();
  std::unique_lock lock(mutex_);
  spare_run_ended_.wait(lock, [this] { return spare_runs_ == 0; });
}

OnDemandThread::Next Initialiser::run_next(std::unique_lock<std::mutex>& lock) {
  if (waiting_.empty()) {
    return OnDemandThread::Next::when_woken;
  }
  if (std::exchange(busy_, true)) {
    return OnDemandThread::Next::soon;
  }
  const std::unique_ptr<Initialisation> next = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  next->make();
  lock.lock();
  busy_ = false;
  next->settle();
  return OnDemandThread::Next::at_once;
}

} // namespace stoker::engine
