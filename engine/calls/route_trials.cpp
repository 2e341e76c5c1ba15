// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/route_trials.hpp"

#include <algorithm>
#include <utility>

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

void RouteTrials::note_start(std::uint64_t call, std::uint64_t others, double now) {
  several_.add(others > 0 ? 1 : 0);
  under_way_ = others + 1;
  depth_ = std::max(depth_, under_way_);
  if (kind_ != several_at_a_time) {
    return;
  }
  busy_.note(others > 0, now);
  if (call + pace_.trial == next_question_) {
    busy_before_ = busy_.total();
  } else if (call == next_question_ && busy_before_) {
    double& least = kinds_[kind_].times[static_cast<std::size_t>(route())].busy_each;
    least = std::min(least, (busy_.total() - *busy_before_) / static_cast<double>(pace_.trial));
  }
}

void RouteTrials::note_end(double now) {
  if (kind_ == several_at_a_time) {
    busy_.note(true, now);
  }
}

RouteTrials::Findings RouteTrials::findings() const {
  const auto known = [](double value) { return value < unknown ? value : 0; };
  const auto times = [&](Route route) -> const Times& { return now().times[static_cast<std::size_t>(route)]; };
  const auto inside = [&](Route route) { return times(route).inside.median(pace_.trial); };
  const bool several = known(several_.median(of_short_calls.trial)) > 0;
  const auto cost = [&](Route route) {
    return kind_ == several_at_a_time ? times(route).busy_each
                                      : times(route).cost(pace_.trial, several && small_, takes_core_ || !small_);
  };
  const double by_engine = cost(Route::engine);
  const double by_mpi = cost(Route::mpi);
  return {known(overlaps_.median(pace_.trial)),
          small_ ? inside(Route::engine) : by_engine,
          small_ ? inside(Route::mpi) : by_mpi,
          several ? static_cast<double>(std::max<std::uint64_t>(depth_, 2)) : 0.0,
          -known(inside(now().usual)),
          -by_engine,
          -by_mpi};
}

RouteTrials RouteTrials::for_another() const {
  RouteTrials another = *this;
  for (Kind& kind : another.kinds_) {
    kind.times = {};
    kind.trying = false;
    kind.turns = 0;
    kind.next_trial = kind.decided ? first_retrial : 0;
  }
  another.overlaps_.clear();
  another.several_.clear();
  another.depth_ = another.under_way_ = 0;
  another.busy_ = {};
  another.busy_before_.reset();
  another.decisions_ = 0;
  another.mpi_until_ = 0;
  another.next_question_ = warm_up + pace_.trial;
  if (!now().decided) {
    another.begin_with_mpi();
  }
  return another;
}

// A call that MPI does not overlap takes twice as long. That is worth finding out about once there have been many.
std::uint64_t RouteTrials::earliest_trial() const {
  return kind_ == overlapping && pace_.trial == of_long_calls.trial ? first_retrial : 0;
}

// Small calls that are waited for at once are better off where they are.
bool RouteTrials::may_try() const {
  return next_question_ >= std::max(now().next_trial, earliest_trial()) &&
         (!small_ || (kind_ == overlapping && prepared_));
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
  const std::uint64_t since_question = pace_.lag;
  several_agreed_ = largest[several_at] > 0;
  const std::size_t found = several_agreed_ && !small_   ? several_at_a_time
                            : largest[overlapped_at] > 0 ? overlapping
                                                         : at_once;
  const auto depth = static_cast<std::uint64_t>(largest[several_at]);
  const bool were_several = kind_ == several_at_a_time;
  const bool far_less = were_several && !comparing() && 4 * depth < depth_agreed_;
  const bool other_depth = found == several_at_a_time && (!were_several || depth > depth_agreed_ || far_less);
  const bool changed = other_depth || (known_ && found != kind_);
  if (!changed && found != kind_) {
    std::swap(kinds_[found], kinds_[kind_]); // the times so far are of that kind
  }
  known_ = true;
  kind_ = found;
  Kind& kind = kinds_[kind_];
  const double usual = largest[most_cost_at + static_cast<std::size_t>(kind.usual)];
  const double tried = largest[most_cost_at + static_cast<std::size_t>(other(kind.usual))];
  if (kind_ == several_at_a_time) {
    depth_agreed_ = other_depth ? depth : depth_agreed_;
    pace_ = of_several_calls(depth_agreed_);
  } else if (!small_ && (usual < unknown || were_several)) {
    pace_ = usual < long_seconds || were_several ? of_short_calls : of_long_calls;
  }
  if (changed) { // to times of long ago none are compared
    kind.times = {};
    kind.trying = false;
    kind.turns = 0;
  } else if (kind.trying && tried < unknown && ++kind.turns < pace_.turns) {
    kind.trying = false;
  } else if (kind.trying) {
    kind.turns = 0;
    kind.usual = pays(largest) ? other(kind.usual) : kind.usual;
    kind.trying = false;
    kind.decided = kind.decided || tried < unknown; // else some rank has no time yet
    kind.next_trial = kind.decided ? std::max(first_retrial, growth * next_question_) : 2 * next_question_;
  } else if (usual < unknown && may_try()) {
    kind.trying = true;
  }
  if (!comparing()) {
    for (Times& times : kind.times) {
      times.busy_each = unknown;
    }
  }
  prepared_ = prepared_ || (kind_ == overlapping &&
                            -largest[least_inside_at] * static_cast<double>(next_question_) > worth_a_request);
  const bool tries_soon = comparing() || (!kind.decided && !small_);
  const std::uint64_t apart = std::clamp(next_question_ / 8, pace_.least_apart, pace_.most_apart);
  next_question_ += tries_soon ? since_question + pace_.settling + pace_.trial : std::max(apart, since_question + 1);
  depth_ = under_way_; // calls may have begun since the one that this was decided for
  busy_before_.reset();
}

} // namespace stoker::engine
