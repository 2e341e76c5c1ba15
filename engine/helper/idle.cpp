// SPDX-License-Identifier: BSD-3-Clause
// Idle policy: see the header.
#include "engine/helper/idle.hpp"

#include <algorithm>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stoker::engine {

namespace {

// Shortest nap worth a system call, and the first one.
constexpr std::uint64_t first_nap_ns = 20'000;
// The shortest slice that the kernel accepts.
constexpr std::uint64_t short_slice_ns = 100'000;

// struct sched_attr of <linux/sched/types.h>, which cannot be included beside <sched.h>: first version of the layout.
struct SchedulerAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;
  std::uint64_t deadline;
  std::uint64_t period;
};
static_assert(sizeof(SchedulerAttributes) == 48);

} // namespace

IdleLimits IdleLimits::reserved(std::uint64_t spin_us, std::uint64_t nap_us) {
  const std::uint64_t spin_ns = spin_us * 1000;
  const std::uint64_t nap_ns = nap_us * 1000;
  return {.poll_ns = spin_ns / 4,
          .pause_ns = spin_ns,
          .yield_ns = 2 * spin_ns,
          .nap_min_ns = std::min(first_nap_ns, nap_ns),
          .nap_max_ns = nap_ns,
          .linger_ns = 200 * spin_ns};
}

IdleLimits IdleLimits::shared(std::uint64_t spin_us, std::uint64_t nap_us) {
  const std::uint64_t spin_ns = spin_us * 1000 / 8;
  const std::uint64_t nap_ns = nap_us * 1000;
  return {.poll_ns = 0,
          .pause_ns = spin_ns,
          .yield_ns = spin_ns,
          .nap_min_ns = std::min(first_nap_ns, nap_ns),
          .nap_max_ns = nap_ns,
          .linger_ns = 0};
}

void IdlePolicy::work_begins(std::uint64_t now_ns) {
  if (without_work_) {
    without_work_ = false;
    expected_ = is_soon(now_ns);
  }
}

bool IdlePolicy::lingers(std::uint64_t now_ns) {
  without_work_ = true;
  return expected_ && is_soon(now_ns);
}

Action IdlePolicy::next(bool progressed, std::uint64_t now_ns, std::uint64_t age_ns, std::uint64_t awake_ns) {
  if (progressed || !begun_) {
    begun_ = true;
    quiet_since_ns_ = now_ns;
    return {Action::Kind::poll, 0};
  }
  const std::uint64_t quiet_ns = now_ns > quiet_since_ns_ ? now_ns - quiet_since_ns_ : 0;
  if (quiet_ns < limits_.poll_ns) {
    return {Action::Kind::poll, 0};
  }
  if (quiet_ns < limits_.pause_ns) {
    return {Action::Kind::pause, 0};
  }
  // nap_us = 0 means never to nap.
  if (quiet_ns < (expected_ ? std::max(limits_.yield_ns, limits_.linger_ns) : limits_.yield_ns) ||
      limits_.nap_max_ns == 0) {
    return {Action::Kind::yield, 0};
  }
  return {Action::Kind::nap, std::clamp(std::max(age_ns / 4, awake_ns), limits_.nap_min_ns, limits_.nap_max_ns)};
}

bool set_short_slice() {
  SchedulerAttributes attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != SCHED_OTHER) {
    return false;
  }
  attributes.size = sizeof attributes;
  attributes.runtime = short_slice_ns;
  if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0) {
    return false;
  }
  // A kernel that has no custom slices accepts the call and forgets the value.
  SchedulerAttributes obtained{};
  return syscall(SYS_sched_getattr, 0, &obtained, sizeof obtained, 0) == 0 && obtained.runtime == short_slice_ns;
}

bool set_timer_slack(std::chrono::nanoseconds slack) {
  return prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack.count()), 0UL, 0UL, 0UL) == 0;
}

} // namespace stoker::engine
