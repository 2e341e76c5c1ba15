// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/help_trials.hpp"

#include <algorithm>

namespace stoker::engine {

bool HelpTrials::start() {
  ++interval_;
  if (prompt_ == prompt_intervals) {
    return helped_ = false;
  }
  if (!trying_ && interval_ >= next_trial_ && times(helps_).full()) {
    trying_ = true;
    (helps_ ? without_ : with_).clear();
  }
  return helped_ = helps_ != trying_;
}

void HelpTrials::finished(std::uint64_t interval_ns, std::uint64_t beside_ns) {
  if (beside_ns < interval_ns / gain) { // no help could gain enough
    prompt_ = std::min(prompt_ + 1, prompt_intervals);
    return;
  }
  if (prompt_ == prompt_intervals) { // a guess that was wrong, whose time belongs to neither way
    prompt_ = 0;
    return;
  }
  prompt_ = 0;
  (helped_ ? with_ : without_).add(interval_ns);
  if (trying_ && times(!helps_).full()) {
    end_trial();
  }
}

void HelpTrials::end_trial() {
  trying_ = false;
  const bool pays = with_.median() < without_.median() - (without_.median() / gain);
  apart_ = pays == helps_ ? std::min(4 * apart_, most_apart) : first_trial;
  helps_ = pays;
  next_trial_ = interval_ + apart_;
}

std::optional<std::uint64_t> HelpTrials::median_ns(bool with_help) const {
  return times(with_help).full() ? std::optional(times(with_help).median()) : std::nullopt;
}

} // namespace stoker::engine
