// SPDX-License-Identifier: BSD-3-Clause
// Who carries out which call, for times made by hand.
#include "engine/route_trials.hpp"

#include <gtest/gtest.h>

namespace stoker::engine {
namespace {

// How many of the calls [begin, end) were MPI's, where the two take so long.
int run(RouteTrials& trials, std::uint64_t begin, std::uint64_t end, double engine_seconds, double mpi_seconds) {
  int by_mpi = 0;
  for (std::uint64_t call = begin; call < end; ++call) {
    if (trials.decides(call)) {
      trials.decide(trials.medians());
    }
    const Route route = trials.route(call);
    by_mpi += route == Route::mpi ? 1 : 0;
    trials.add(call, route, route == Route::mpi ? mpi_seconds : engine_seconds);
  }
  return by_mpi;
}

constexpr auto trial = RouteTrials::trial;
constexpr auto first = RouteTrials::first_trial;
constexpr auto second = first * RouteTrials::growth;

TEST(RouteTrials, TheFasterOneIsTaken) {
  RouteTrials engine_wins(true);
  EXPECT_EQ(run(engine_wins, 0, second, 1.0, 2.0), trial);
  RouteTrials mpi_wins(true);
  EXPECT_EQ(run(mpi_wins, 0, second, 2.0, 1.0), static_cast<int>(second - first));
}

TEST(RouteTrials, ATieChangesNothing) {
  RouteTrials trials(true);
  EXPECT_EQ(run(trials, 0, second, 1.0, 0.98), trial);
}

TEST(RouteTrials, IsTriedAgain) {
  RouteTrials trials(true);
  run(trials, 0, second, 2.0, 1.0);
  EXPECT_EQ(run(trials, second, second + trial, 0.5, 1.0), 0);
  EXPECT_EQ(run(trials, second + trial, second + 100, 0.5, 1.0), 0);
}

TEST(RouteTrials, WithoutTrialsAllIsTheEngines) {
  RouteTrials trials(false);
  EXPECT_EQ(run(trials, 0, 1000, 2.0, 1.0), 0);
  EXPECT_FALSE(trials.on_trial(first));
}

TEST(RouteTrials, NothingIsDecidedWithoutTimes) {
  RouteTrials trials(true);
  EXPECT_EQ(trials.medians()[0], RouteTrials::unknown);
  trials.decide({RouteTrials::unknown, 1.0});
  EXPECT_EQ(trials.route(first + trial), Route::engine);
  RouteTrials others(true);
  others.decide({1.0, RouteTrials::unknown});
  EXPECT_EQ(others.route(first + trial), Route::engine);
}

// Whose numbers are small initialise requests.
TEST(RouteTrials, TheFirstCallsAreNotCompared) {
  RouteTrials trials(true);
  run(trials, 0, RouteTrials::warm_up, 1.0, 1.0);
  EXPECT_EQ(trials.medians()[0], RouteTrials::unknown);
}

} // namespace
} // namespace stoker::engine
