// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/route_trials.hpp"

#include <algorithm>

namespace stoker::engine {

double RouteTrials::Latest::median(std::size_t most) const {
  const std::size_t count = std::min({count_, most, values_.size()});
  if (count == 0) {
    return unknown;
  }
  std::array<double, of_short_calls.trial> sorted{};
  for (std::size_t i = 0; i < count; ++i) {
    sorted[i] = values_[(count_ - 1 - i) % values_.size()];
  }
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

void RouteTrials::add(std::uint64_t call, Route route, double seconds, double beside) {
  if (call >= warm_up) {
    kinds_[kind_].times[static_cast<std::size_t>(route)].add(seconds);
    overlaps_.add(beside > std::max(overlapped * seconds, least_beside) ? 1 : 0);
  }
}

RouteTrials::Findings RouteTrials::findings() const {
  const auto known = [](double value) { return value < unknown ? value : 0; };
  return {known(overlaps_.median(pace_.trial)), now().times[0].median(pace_.trial), now().times[1].median(pace_.trial),
          known(several_.median(of_short_calls.trial))};
}

// A call that MPI does not overlap takes twice as long. That is worth finding out about once there have been many.
std::uint64_t RouteTrials::earliest_trial() const {
  return kind_ == 1 && pace_.trial == of_long_calls.trial ? first_retrial : 0;
}

void RouteTrials::decide(const Findings& largest) {
  const std::size_t found = largest[0] > 0 ? 1 : 0;
  const bool changed = known_ && found != kind_;
  if (!known_ && found != kind_) {
    std::swap(kinds_[0], kinds_[1]); // the times so far are of that kind
  }
  known_ = true;
  kind_ = found;
  Kind& kind = kinds_[kind_];
  const double usual = largest[1 + static_cast<std::size_t>(kind.usual)];
  const double tried = largest[1 + static_cast<std::size_t>(other(kind.usual))];
  if (usual < unknown) {
    pace_ = usual < long_seconds || largest[3] > 0 ? of_short_calls : of_long_calls;
  }
  if (changed) { // to times of long ago none are compared
    std::ranges::for_each(kind.times, &Latest::clear);
    kind.trying = false;
  } else if (kind.trying) {
    kind.usual = tried < usual * (1 - gain) ? other(kind.usual) : kind.usual;
    kind.trying = false;
    kind.decided = kind.decided || tried < unknown; // else no call of the trial has ended yet
    kind.next_trial = kind.decided ? std::max(first_retrial, growth * next_question_) : 2 * next_question_;
  } else if (usual < unknown && next_question_ >= std::max(kind.next_trial, earliest_trial())) {
    kind.trying = true;
  }
  next_question_ += kind.trying || !kind.decided ? lag + pace_.trial
                                                 : std::clamp(next_question_ / 8, pace_.least_apart, pace_.most_apart);
}

} // namespace stoker::engine
