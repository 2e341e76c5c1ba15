// SPDX-License-Identifier: BSD-3-Clause
// The idle policy: what a helper does between two rounds while something is active but nothing moves. It polls, pauses,
// yields, and then naps; naps grow with the age of what is active. With nothing active the helper sleeps on its
// doorbell without a limit. But on a core of its own it goes on polling for a while if its last work came soon after
// the work before: waking it would take a rank as long as a short exchange takes the helper.
#pragma once

#include "engine/shared/doorbell.hpp"

#include <chrono>
#include <cstdint>
#include <sched.h>

namespace stoker::engine {

// Durations since the last progress at which the next stage begins, and the lengths of naps.
struct IdleLimits {
  std::uint64_t poll_ns = 0;  // until then: poll again at once
  std::uint64_t pause_ns = 0; // until then: relax the core between polls
  std::uint64_t yield_ns = 0; // until then: let others run; equal to pause_ns: never
  // Then come naps of a quarter of the time that the youngest active epoch has been running, within these bounds. The
  // end of each nap costs the computing rank 10 to 20 us of its core, so short naps of fixed length would take a large
  // part of a long exchange. Sockets hold what arrives meanwhile. The end of an exchange is noticed late by an eighth
  // of its length at worst on average. A nap is also at least as long as the thread has been awake. A thread that has
  // had more than its share of the core does not get ahead of the rank when it wakes: it waits for the scheduler's next
  // tick, which can be milliseconds away.
  std::uint64_t nap_min_ns = 0;
  std::uint64_t nap_max_ns = 0;
  // How soon work has to come after the work before, for the next to be expected as soon: until then neither sleep nor
  // nap. 0: never.
  std::uint64_t linger_ns = 0;

  // Limits for a helper on a core of its own, from the settings spin_us and nap_us: polls and pauses for spin_us, then
  // yields for as long again. Lingers 200 times as long, which covers the computation between two short reductions.
  static IdleLimits reserved(std::uint64_t spin_us, std::uint64_t nap_us);
  // The same for a core that a rank computes or spins on. A yield can cost a whole slice of the scheduler there, a nap
  // wakes ahead of the rank; so a few pauses, no yield, and naps early.
  static IdleLimits shared(std::uint64_t spin_us, std::uint64_t nap_us);
};

struct Action {
  enum class Kind : std::uint8_t { poll, pause, yield, nap };
  Kind kind = Kind::poll;
  std::uint64_t nap_ns = 0;
  bool operator==(const Action&) const = default;
};

// One per helper. Pure: the caller brings the time.
class IdlePolicy {
public:
  explicit IdlePolicy(const IdleLimits& limits) : limits_(limits) {}

  // To be called after every round. `progressed`: whether the round moved something, so that everything begins anew.
  // `age_ns`: how long the youngest active epoch has been running. `awake_ns`: how long the thread has been awake.
  Action next(bool progressed, std::uint64_t now_ns, std::uint64_t age_ns, std::uint64_t awake_ns);

  // To be called around every round with work, and when there is none: whether to poll on nevertheless.
  void work_begins(std::uint64_t now_ns);
  void work_ends(std::uint64_t now_ns) { worked_at_ns_ = now_ns; }
  [[nodiscard]] bool lingers(std::uint64_t now_ns);

private:
  [[nodiscard]] bool is_soon(std::uint64_t now_ns) const { return now_ns < worked_at_ns_ + limits_.linger_ns; }

  IdleLimits limits_;
  bool expected_ = false; // more work, soon
  bool without_work_ = true;
  std::uint64_t worked_at_ns_ = 0;
  bool begun_ = false;
  std::uint64_t quiet_since_ns_ = 0;
};

inline void relax_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb"); // takes some time, as pause does; most processors ignore yield
#endif
}

// Carries the action out. A nap is a sleep on the doorbell, so that Start cuts it short.
template <class Ready>
void perform(const Action& action, Doorbell& doorbell, Ready has_work) {
  switch (action.kind) {
  case Action::Kind::poll:
    break;
  case Action::Kind::pause:
    relax_core();
    break;
  case Action::Kind::yield:
    sched_yield();
    break;
  case Action::Kind::nap:
    doorbell.sleep(has_work, std::chrono::nanoseconds(action.nap_ns));
    break;
  }
}

// Gives the calling thread a short slice, so that the scheduler runs it soon after a nap, ahead of threads that compute
// (from Linux 6.12 on). Returns whether the kernel accepted it.
bool set_short_slice();
// Sets how late naps of the calling thread may end: 50 us by default, 1 ns at least. Returns whether the kernel
// accepted it.
bool set_timer_slack(std::chrono::nanoseconds slack);

} // namespace stoker::engine
