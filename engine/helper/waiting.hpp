// SPDX-License-Identifier: BSD-3-Clause
// Waiting: what a thread of the application does until helpers, or the MPI library, have completed something.
#pragma once

#include "engine/base/clock.hpp"
#include "engine/helper/core_share.hpp"
#include "engine/helper/idle.hpp"
#include "engine/shared/node_memory.hpp"

#include <chrono>
#include <cstdint>

namespace stoker::engine {

// A rank's wish that its helper works although it is paused.
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

// Lets the MPI library make progress: the peers of this rank's own messages may be waiting for it. Not where comm is
// MPI_COMM_NULL.
void poke_mpi(MPI_Comm comm);

// The facts about an engine that a wait needs; as they are here where there is no engine.
struct WaitSite {
  std::uint64_t spin_ns = 0;        // how long it only polls
  MPI_Comm network = MPI_COMM_NULL; // to poke
  Doorbell* bell = nullptr;         // this rank's, for waits that can sleep
};

// Whether this thread is in a wait that has gone on for more than one attempt: what it asks then is no test of the
// application's.
inline thread_local bool wait_goes_on = false;

struct Nothing {
  template <class... Arguments>
  void operator()(const Arguments&... /*unused*/) const {}
};

struct WaitMeans {
  bool asks_mpi = true;         // an attempt asks the MPI library, which takes microseconds
  bool can_sleep = false;       // somebody else brings it to its end, and rings this rank's bell then
  std::uint64_t copying_ns = 0; // how long others may be busy with it although nothing moves here: it polls longer
};

// One wait: what it waits for, and what may be done meanwhile.
template <class Done, class MakeProgress, class CallForHelp = Nothing, class LookAround = Nothing>
struct Waiter {
  // A constructor, because not every compiler deduces the types of an aggregate.
  Waiter(Done done_, MakeProgress make_progress_, WaitMeans means_ = {}, CallForHelp call_for_help_ = {},
         LookAround look_around_ = {})
      : done(done_), make_progress(make_progress_), means(means_), call_for_help(call_for_help_),
        look_around(look_around_) {}
  Done done;                  // bool(): a few loads
  MakeProgress make_progress; // bool(): one attempt with this thread's own means; whether anything moved
  WaitMeans means;
  CallForHelp call_for_help; // once polling has lasted: makes sure that whoever else can bring it on does
  LookAround look_around;    // (waited_ns), now and then in a long wait; may throw
};

// Returns when waiter.done().
template <class... Policies>
void wait_until_done(const WaitSite& site, const Waiter<Policies...>& waiter) {
  constexpr std::uint64_t look_interval_ns = 50'000'000;
  constexpr std::uint64_t long_sleep_after_ns = 500'000;
  CoreShare& core = CoreShare::of_this_thread();
  std::uint64_t begin = 0;
  std::uint64_t quiet_since = 0;
  std::uint64_t next_look = 0;
  const struct Restore {
    bool before = wait_goes_on;
    ~Restore() { wait_goes_on = before; }
  } at_the_end;
  for (unsigned rounds = 1;; ++rounds) {
    const bool moved = waiter.make_progress();
    if (waiter.done()) {
      return;
    }
    wait_goes_on = true;
    // On a core that others want, the thread that could make progress may be waiting for this one to stop polling.
    const bool contended = !moved && core.contended();
    if (!moved) {
      contended ? core.yield() : relax_core();
    }
    if (!contended && rounds % 32 != 0 && (moved || !waiter.means.asks_mpi)) {
      continue; // the clock costs more than a look at the flags
    }
    const std::uint64_t now = now_ns();
    if (begin == 0) {
      begin = now;
      next_look = now + look_interval_ns;
    }
    if (now >= next_look) {
      waiter.look_around(now - begin); // also where much moves, but not what this waits for
      next_look = now + look_interval_ns;
    }
    if (moved) {
      quiet_since = 0;
      continue;
    }
    if (!contended) {
      core.probe(now);
    }
    if (quiet_since == 0) {
      quiet_since = now;
    }
    // Polling between yields does not disturb threads that yield as well. Sleeping costs the thread that has to wake
    // this one.
    if (now - quiet_since < (contended ? 10 * site.spin_ns : site.spin_ns) + waiter.means.copying_ns) {
      continue;
    }
    poke_mpi(site.network);
    waiter.call_for_help();
    if (waiter.means.can_sleep) {
      const std::chrono::nanoseconds limit(now - quiet_since < long_sleep_after_ns ? 50'000 : 1'000'000);
      site.bell->sleep([&] { return waiter.done(); }, limit);
      rounds = 31; // look at the clock again after the next attempt
    } else if (!contended) {
      core.yield();
    }
  }
}

// The same for what the MPI library brings about: until attempt() is true, which asks it. `advance`: this thread's own
// means.
template <class Advance, class Attempt, class CallForHelp = Nothing>
void wait_for_mpi(const WaitSite& site, Advance&& advance, Attempt&& attempt, CallForHelp call_for_help = {}) {
  constexpr int at_once = 100; // a short call is over before whoever wants this core could have used it
  bool done = false;
  for (int i = 0; i < at_once && !done; ++i) {
    done = attempt();
  }
  if (done) {
    return;
  }
  const auto try_again = [&] {
    const bool moved = advance();
    done = attempt();
    return moved || done;
  };
  wait_until_done(site, Waiter([&] { return done; }, try_again, {}, call_for_help));
}

} // namespace stoker::engine
