// SPDX-License-Identifier: BSD-3-Clause
#include "engine/route_trials.hpp"

#include <algorithm>
#include <numeric>

namespace stoker::engine {

double RouteTrials::Latest::median() const {
  if (count_ == 0) {
    return unknown;
  }
  auto sorted = values_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count_, trial));
  const auto middle = sorted.begin() + ((end - sorted.begin()) / 2);
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

double RouteTrials::Latest::sum() const {
  return std::accumulate(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(std::min(count_, trial)), 0.0);
}

void RouteTrials::add(std::uint64_t call, Route route, double seconds, double beside) {
  if (call >= warm_up) {
    kinds_[kind_].times[static_cast<std::size_t>(route)].add(seconds);
    overlaps_.add(beside > overlapped * seconds ? 1 : 0);
  }
}

RouteTrials::Findings RouteTrials::findings() const {
  return {overlaps_.sum(), now().times[0].median(), now().times[1].median()};
}

void RouteTrials::decide(const Findings& largest) {
  const std::size_t found = largest[0] > static_cast<double>(trial) / 2 ? 1 : 0;
  const bool changed = known_ && found != kind_;
  if (!known_ && found != kind_) {
    std::swap(kinds_[0], kinds_[1]); // the times so far are of that kind
  }
  known_ = true;
  kind_ = found;
  Kind& kind = kinds_[kind_];
  const double usual = largest[1 + static_cast<std::size_t>(kind.usual)];
  const double tried = largest[1 + static_cast<std::size_t>(other(kind.usual))];
  if (changed) { // to times of long ago none are compared
    std::ranges::for_each(kind.times, &Latest::clear);
    kind.trying = false;
  } else if (kind.trying) {
    kind.usual = tried < usual * (1 - gain) ? other(kind.usual) : kind.usual;
    kind.trying = false;
    kind.decided = true;
    kind.next_retrial = std::max(first_retrial, growth * next_question_);
  } else if (usual < unknown && (!kind.decided || next_question_ >= kind.next_retrial)) {
    kind.trying = true;
  }
  next_question_ +=
      kind.trying || !kind.decided ? lag + trial : std::clamp(next_question_ / 8, 2 * lag + trial, most_apart);
}

} // namespace stoker::engine
