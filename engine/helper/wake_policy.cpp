// SPDX-License-Identifier: BSD-3-Clause
// Wake policy: see the header.
#include "engine/helper/wake_policy.hpp"

#include <algorithm>

namespace stoker::engine {

bool WakePolicy::start() {
  if (always_) {
    return true;
  }
  ++epoch_;
  if (guessed_) {
    right_ = wrong_ ? 0 : right_ + 1;
  }
  if (right_ == often) {
    right_ = 0;
    needed_ = prompt_waits;
    prompt_waits_ = std::min(prompt_waits_, needed_);
  }
  if (trying_ && tried_.full()) {
    end_trial();
  }
  if (epoch_ == next_trial_) {
    interval_ = std::min(4 * interval_, longest_interval);
    next_trial_ += interval_; // counted in epochs alone, so that all ranks try at the same time
    // The other way than usual.
    trying_ = usual_.full() && !blocking() && (!wakes_ || exchange_ns_ < longest_tried_ns);
    tried_.clear();
  }
  woke_ = wakes_ != trying_ && !blocking();
  guessed_ = blocking();
  wrong_ = false;
  return woke_;
}

void WakePolicy::waited(std::uint64_t after_start_ns) {
  prompt_waits_ = after_start_ns < prompt_ns ? std::min(prompt_waits_ + 1, needed_) : 0;
  wrong_ = prompt_waits_ == 0;
  trying_ = trying_ && !blocking();
}

void WakePolicy::slept() {
  if (guessed_ && !wrong_) {
    needed_ = std::min(4 * needed_, most_prompt_waits);
  }
  prompt_waits_ = 0;
  wrong_ = true;
}

void WakePolicy::missed() {
  prompt_waits_ = 0;
  wrong_ = true;
  if (wakes_ == trying_) {
    trying_ = false;
    wakes_ = true;
    usual_.clear();
  }
}

void WakePolicy::finished(std::uint64_t step_ns, std::uint64_t exchange_ns) {
  if (guessed_) {
    return; // the helper was left asleep on a guess: the time belongs to neither way
  }
  (trying_ ? tried_ : usual_).add(step_ns);
  if (woke_) {
    exchange_ns_ = exchange_ns;
  }
}

void WakePolicy::end_trial() {
  trying_ = false;
  // If the two are about equal, the usual way stays.
  if (tried_.median() < usual_.median() - (usual_.median() / 32)) {
    wakes_ = !wakes_;
    std::swap(usual_, tried_);
  }
}

} // namespace stoker::engine
