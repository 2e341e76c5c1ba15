// SPDX-License-Identifier: BSD-3-Clause
// Initialises requests in the background, in the order in which they were asked for, one at a time: two that take part
// in the same collective calls in another order than on other ranks would wait for each other for ever.
#pragma once

#include "engine/base/on_demand_thread.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

namespace stoker::engine {

class Initialisation {
public:
  virtual ~Initialisation() = default;
  virtual void make() = 0;   // collective; without the mutex
  virtual void settle() = 0; // with the mutex
};

class Initialiser {
public:
  // `mutex`: of the owner, guards what is here, too.
  explicit Initialiser(std::mutex& mutex) : mutex_(mutex) {}
  Initialiser(const Initialiser&) = delete;
  Initialiser& operator=(const Initialiser&) = delete;
  ~Initialiser() = default;

  // The threads are there that this process cannot do without once it initialises requests in the background. That
  // takes MPI_THREAD_MULTIPLE. Local. Throws Error(resource) if there can be none.
  static void have_threads();

  // With the mutex, in the same order on all ranks. The next run() gets to it.
  void add(std::unique_ptr<Initialisation> initialisation) { waiting_.push_back(std::move(initialisation)); }
  // With the mutex. All that were added are initialised in the background.
  void run_in_background();
  // Without the mutex. Collective: initialises all that were added.
  void run_here();
  // With the mutex. Whether nothing is left.
  [[nodiscard]] bool idle() const { return waiting_.empty() && !busy_ && spare_runs_ == 0; }
  // Without the mutex. Returns once nothing is left.
  void end();

private:
  [[nodiscard]] OnDemandThread::Next run_next(std::unique_lock<std::mutex>& lock);

  std::mutex& mutex_;
  std::deque<std::unique_ptr<Initialisation>> waiting_;
  bool busy_ = false;
  int spare_runs_ = 0; // that the process's spare thread has before it, or is at
  std::condition_variable spare_run_ended_;
  OnDemandThread thread_{mutex_, [this](std::unique_lock<std::mutex>& lock) { return run_next(lock); }};
};

} // namespace stoker::engine
