// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/spare_thread.hpp"

#include <utility>

namespace stoker::engine {

SpareThread& SpareThread::of_process() {
  static SpareThread& spare = *new SpareThread;
  return spare;
}

void SpareThread::have() {
  const std::lock_guard lock(mutex_);
  thread_.have();
}

void SpareThread::run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  thread_.wake();
}

OnDemandThread::Next SpareThread::run_next(std::unique_lock<std::mutex>& lock) {
  if (work_.empty()) {
    return OnDemandThread::Next::when_woken;
  }
  const std::function<void()> work = std::move(work_.front());
  work_.pop_front();
  lock.unlock();
  work();
  lock.lock();
  return OnDemandThread::Next::at_once;
}

} // namespace stoker::engine
