// SPDX-License-Identifier: BSD-3-Clause
// A thread for what cannot wait when the system gives the process no more threads.
#pragma once

#include "engine/base/on_demand_thread.hpp"

#include <deque>
#include <functional>
#include <mutex>

namespace stoker::engine {

class SpareThread {
public:
  // The one of this process. Never destroyed: programs may leave without MPI_Finalize.
  [[nodiscard]] static SpareThread& of_process();

  // From now on it is there, asleep, for as long as the process is. Throws Error(resource) if there can be none.
  void have();
  // Calls `work` after what came before. The thread is there.
  void run(std::function<void()> work);
  // Before MPI is finalized: nothing comes any more.
  void end() { thread_.end(); }

private:
  [[nodiscard]] OnDemandThread::Next run_next(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_; // guards what follows
  std::deque<std::function<void()>> work_;
  OnDemandThread thread_{mutex_, [this](std::unique_lock<std::mutex>& lock) { return run_next(lock); },
                         OnDemandThread::Stay::for_good};
};

} // namespace stoker::engine
