// SPDX-License-Identifier: BSD-3-Clause
// Starts that are put off: because the ranks have not decided on their route yet, because the call's request is not
// made yet, or because too many calls before it are under way. They must not depend on the application to ask for them.
// It may wait for something else, which another rank reaches only after this one has started them. So a thread looks
// after them, one for all communicators and requests of this process.
//
// That thread never waits for other ranks. So it cannot be the one that initialises requests: an initialisation is over
// when all ranks have come to it, and some may come only after a start that is put off here
// (tests/models/initialisations.pml).
#pragma once

#include "engine/base/on_demand_thread.hpp"

#include <mutex>
#include <vector>

namespace stoker::engine {

// Something with starts that can be put off.
class PutOff {
public:
  // One attempt. Returns whether none is put off any more. Local.
  virtual bool try_starts() = 0;

protected:
  ~PutOff() = default;
};

class PutOffStarts {
public:
  // The one of this process. Never destroyed: programs may leave without MPI_Finalize.
  [[nodiscard]] static PutOffStarts& of_process();

  // From now on the thread is there, for as long as the process may start anything. Throws Error(resource) if there can
  // be none.
  void have_thread() {
    const std::lock_guard lock(mutex_);
    thread_.have();
  }
  // From now on the thread tries them; `note` is called before it does, with the mutex.
  template <class Note>
  void add(PutOff& starts, Note&& note) {
    const std::lock_guard lock(mutex_);
    note();
    enlist(starts);
  }
  void add(PutOff& starts) {
    add(starts, [] {});
  }
  // Calls `attempt` between two attempts of the thread. Returns whether none is put off any more, which attempt() says.
  template <class Attempt>
  bool attempt(PutOff& starts, Attempt&& attempt) {
    const std::lock_guard lock(mutex_);
    const bool started = attempt();
    if (started) {
      std::erase(waiting_, &starts);
    }
    return started;
  }
  // The thread does not touch it any more.
  void remove(PutOff& starts) {
    attempt(starts, [] { return true; });
  }
  // Before MPI is finalized: the thread starts nothing any more.
  void end() { thread_.end(); }

private:
  void enlist(PutOff& starts); // with mutex_
  [[nodiscard]] OnDemandThread::Next try_all();

  std::mutex mutex_; // guards waiting_. No lock of what is put off is held when it is taken.
  std::vector<PutOff*> waiting_;
  OnDemandThread thread_{mutex_, [this](std::unique_lock<std::mutex>& /*lock*/) { return try_all(); },
                         OnDemandThread::Stay::for_good};
};

} // namespace stoker::engine
