// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/route_trials.hpp"

#include <algorithm>

namespace stoker::engine {

double RouteTrials::Latest::median(std::size_t most) const {
  const std::size_t count = std::min({count_, most, values_.size()});
  if (count == 0) {
    return unknown;
  }
  std::array<double, of_small_calls.trial> sorted{};
  for (std::size_t i = 0; i < count; ++i) {
    sorted[i] = values_[(count_ - 1 - i) % values_.size()];
  }
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

double RouteTrials::Latest::least(std::size_t most) const {
  double least = unknown;
  for (std::size_t i = 0; i < std::min({count_, most, values_.size()}); ++i) {
    least = std::min(least, values_[(count_ - 1 - i) % values_.size()]);
  }
  return least;
}

double RouteTrials::Times::cost(std::size_t most, bool several, bool takes_core) const {
  if (several) {
    return whole.median(most);
  }
  const double in = inside.median(most);
  return in < unknown && takes_core ? in + beside.least(most) : in;
}

void RouteTrials::add(std::uint64_t call, Route route, double seconds, double beside) {
  if (call >= warm_up) {
    Times& times = kinds_[kind_].times[static_cast<std::size_t>(route)];
    times.inside.add(seconds - beside);
    times.beside.add(beside);
    times.whole.add(seconds);
    overlaps_.add(beside > std::max(overlapped * seconds, least_beside) ? 1 : 0);
  }
}

RouteTrials::Findings RouteTrials::findings() const {
  const auto known = [](double value) { return value < unknown ? value : 0; };
  const auto inside = [&](Route route) {
    return now().times[static_cast<std::size_t>(route)].inside.median(pace_.trial);
  };
  const bool several = known(several_.median(of_short_calls.trial)) > 0;
  const bool takes_core = takes_core_ || !small_;
  const double by_engine = now().times[0].cost(pace_.trial, several, takes_core);
  const double by_mpi = now().times[1].cost(pace_.trial, several, takes_core);
  return {known(overlaps_.median(pace_.trial)),
          small_ ? inside(Route::engine) : by_engine,
          small_ ? inside(Route::mpi) : by_mpi,
          several ? 1.0 : 0.0,
          -known(inside(now().usual)),
          -by_engine,
          -by_mpi};
}

RouteTrials RouteTrials::for_another() const {
  RouteTrials another = *this;
  for (Kind& kind : another.kinds_) {
    kind.times = {};
    kind.trying = false;
    kind.next_trial = kind.decided ? first_retrial : 0;
  }
  another.overlaps_.clear();
  another.several_.clear();
  another.decisions_ = 0;
  another.mpi_until_ = now().decided ? 0 : warm_up;
  another.next_question_ = warm_up + pace_.trial;
  return another;
}

// A call that MPI does not overlap takes twice as long. That is worth finding out about once there have been many.
std::uint64_t RouteTrials::earliest_trial() const {
  return kind_ == 1 && pace_.trial == of_long_calls.trial ? first_retrial : 0;
}

// Small calls that are waited for at once are better off where they are.
bool RouteTrials::may_try() const {
  return next_question_ >= std::max(now().next_trial, earliest_trial()) && (!small_ || (kind_ == 1 && prepared_));
}

// All ranks take as long for a step that ends in a small call: those that wait for the others are inside of it for
// longer. What can be saved shows on the rank that is inside for the shortest time, where no other's computation
// disturbs. But where ranks do not wait for each other none of them may lose much.
bool RouteTrials::pays(const Findings& largest) const {
  const auto usual = static_cast<std::size_t>(now().usual);
  const auto tried = static_cast<std::size_t>(other(now().usual));
  if (!small_) {
    return largest[most_cost_at + tried] < largest[most_cost_at + usual] * (1 - gain);
  }
  return -largest[least_cost_at + tried] < -largest[least_cost_at + usual] + (small_gain * largest[least_inside_at]) &&
         largest[most_cost_at + tried] < largest[most_cost_at + usual] * (1 + most_loss);
}

void RouteTrials::decide(const Findings& largest) {
  ++decisions_;
  const std::size_t found = largest[overlapped_at] > 0 ? 1 : 0;
  const bool changed = known_ && found != kind_;
  if (!known_ && found != kind_) {
    std::swap(kinds_[0], kinds_[1]); // the times so far are of that kind
  }
  known_ = true;
  several_agreed_ = largest[several_at] > 0;
  kind_ = found;
  Kind& kind = kinds_[kind_];
  const double usual = largest[most_cost_at + static_cast<std::size_t>(kind.usual)];
  const double tried = largest[most_cost_at + static_cast<std::size_t>(other(kind.usual))];
  if (!small_ && usual < unknown) {
    pace_ = usual < long_seconds || several_agreed_ ? of_short_calls : of_long_calls;
  }
  if (changed) { // to times of long ago none are compared
    kind.times = {};
    kind.trying = false;
  } else if (kind.trying) {
    kind.usual = pays(largest) ? other(kind.usual) : kind.usual;
    kind.trying = false;
    kind.decided = kind.decided || tried < unknown; // else no call of the trial has ended yet
    kind.next_trial = kind.decided ? std::max(first_retrial, growth * next_question_) : 2 * next_question_;
  } else if (usual < unknown && may_try()) {
    kind.trying = true;
  }
  prepared_ =
      prepared_ || (kind_ == 1 && -largest[least_inside_at] * static_cast<double>(next_question_) > worth_a_request);
  const bool tries_soon = kind.trying || (!kind.decided && !small_);
  next_question_ +=
      tries_soon ? pace_.lag + pace_.trial : std::clamp(next_question_ / 8, pace_.least_apart, pace_.most_apart);
}

} // namespace stoker::engine
