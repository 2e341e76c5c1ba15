// SPDX-License-Identifier: BSD-3-Clause
#include "engine/route_trials.hpp"

#include <algorithm>

namespace stoker::engine {

double RouteTrials::Times::median() const {
  if (count_ == 0) {
    return unknown;
  }
  auto sorted = times_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(count_, trial));
  const auto middle = sorted.begin() + ((end - sorted.begin()) / 2);
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

void RouteTrials::add(std::uint64_t call, Route route, double seconds) {
  if (call >= warm_up) {
    times_[static_cast<std::size_t>(route)].add(seconds);
  }
}

void RouteTrials::decide(const Medians& largest) {
  trial_begin_ *= growth;
  const double usual = largest[static_cast<std::size_t>(usual_)];
  const double tried = largest[static_cast<std::size_t>(other(usual_))];
  if (usual < unknown && tried < usual * (1 - gain)) {
    usual_ = other(usual_);
  }
}

} // namespace stoker::engine
