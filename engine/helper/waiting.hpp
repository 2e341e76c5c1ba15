// SPDX-License-Identifier: BSD-3-Clause
// How a thread of the application hands work to the helper of its domain, and what it does while it waits for the end.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/execute/executor.hpp"
#include "engine/helper/core_share.hpp"
#include "engine/helper/idle.hpp"
#include "engine/shared/node_memory.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <sys/types.h>

namespace stoker::engine {

// The wish of a rank that the helper works although it is paused.
class Plea {
public:
  Plea() = default;
  Plea(const Plea&) = delete;
  Plea& operator=(const Plea&) = delete;
  ~Plea() { withdraw(); }
  void make(RankRoot& carrier);
  void withdraw();

private:
  RankRoot* carrier_ = nullptr; // null: not made
};

// Stores in the rank's ring; while that is full, the helper or this thread in its place takes some out. The helper is not
// woken.
void submit(Engine& engine, const Submission& submission, Plea& plea);

// Also true for a process that was killed and whose parent has not asked for its end yet.
[[nodiscard]] bool is_gone(pid_t pid);

// Lets the MPI library make progress: the peers of this rank's own messages may be waiting for it.
void poke_mpi(MPI_Comm comm);

// Returns when waiter.done(). A Waiter has
//   bool done()                 a few loads
//   bool make_progress()        one attempt with this thread's own means; whether anything moved
//   bool asks_mpi()             whether such an attempt asks the MPI library, which takes microseconds
//   bool can_sleep()            whether somebody else brings it to its end, and rings this rank's bell then
//   void before_sleep()         makes sure that they do
//   void look_around(waited_ns) now and then, in a long wait; may throw
template <class Waiter>
void wait_until_done(const Engine& engine, Waiter&& waiter) {
  constexpr std::uint64_t look_interval_ns = 50'000'000;
  constexpr std::uint64_t long_sleep_after_ns = 500'000;
  const std::uint64_t spin_ns = static_cast<std::uint64_t>(engine.settings().wait_spin_us) * 1000;
  thread_local CoreShare core;
  std::uint64_t begin = 0;
  std::uint64_t quiet_since = 0;
  std::uint64_t next_look = 0;
  for (unsigned rounds = 1;; ++rounds) {
    const bool moved = waiter.make_progress();
    if (waiter.done()) {
      return;
    }
    if (moved) {
      quiet_since = 0;
      continue;
    }
    // On a core that others want, whoever could bring it forward may be waiting for this thread to stop polling.
    const bool contended = core.contended();
    contended ? core.yield() : relax_core();
    if (!contended && rounds % 32 != 0 && !waiter.asks_mpi()) {
      continue; // the clock costs more than a look at the flags
    }
    const std::uint64_t now = now_ns();
    if (begin == 0) {
      core.yield(); // also where it would spin, to learn whether it may
      begin = now;
      next_look = now + look_interval_ns;
    }
    if (quiet_since == 0) {
      quiet_since = now;
    }
    // Polling between yields disturbs nobody who yields as well, and sleeping costs whoever has to wake this thread.
    if (now - quiet_since < (contended ? 10 * spin_ns : spin_ns)) {
      continue;
    }
    poke_mpi(engine.network());
    if (waiter.can_sleep()) {
      waiter.before_sleep();
      const std::chrono::nanoseconds limit(now - quiet_since < long_sleep_after_ns ? 50'000 : 1'000'000);
      engine.memory()->root(engine.memory()->self()).completion.sleep([&] { return waiter.done(); }, limit);
      rounds = 31; // look at the clock again after the next attempt
    } else if (!contended) {
      core.yield();
    }
    if (now >= next_look) {
      waiter.look_around(now - begin);
      next_look = now + look_interval_ns;
    }
  }
}

} // namespace stoker::engine
