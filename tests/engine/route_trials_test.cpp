// SPDX-License-Identifier: BSD-3-Clause
// Which route takes which call, for times made by hand.
#include "engine/calls/route_trials.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <tuple>
#include <utility>

namespace stoker::engine {
namespace {

// How long a call takes, in microseconds, and how much of it the application did something else.
struct CallTimes {
  double engine;
  double mpi;
  double beside = 0;
};

// What all ranks agree on.
template <std::size_t ranks>
RouteTrials::Findings largest_findings(const std::array<RouteTrials, ranks>& trials) {
  RouteTrials::Findings largest = trials.front().findings();
  for (const RouteTrials& one : trials) {
    const RouteTrials::Findings findings = one.findings();
    std::ranges::transform(largest, findings, largest.begin(), [](double a, double b) { return std::max(a, b); });
  }
  return largest;
}

// Several ranks, whose calls take so long each.
template <std::size_t ranks>
class Ranks {
public:
  // How many of the next calls were MPI's.
  int go(int calls, const std::array<CallTimes, ranks>& times) {
    int by_mpi = 0;
    for (int i = 0; i < calls; ++i, ++call_) {
      if (trials_.front().asks(call_)) {
        ++questions;
        findings_ = largest_findings(trials_);
      }
      const bool decides = trials_.front().decides(call_);
      const bool mpi_everywhere = (decide(decides), trials_.front().route() == Route::mpi);
      by_mpi += mpi_everywhere ? 1 : 0;
      for (std::size_t r = 0; r < ranks; ++r) {
        const double now = 0.02 * static_cast<double>(call_);
        trials_[r].note_start(call_, several && r == 0 ? 1 : 0, now); // one rank's are enough
        trials_[r].note_end(now + 0.01);
        EXPECT_EQ(trials_[r].decides(call_), trials_[0].decides(call_));
        EXPECT_EQ(trials_[r].route() == Route::mpi, mpi_everywhere) << "call " << call_;
        trials_[r].add(call_, trials_[r].route(), 1e-6 * (mpi_everywhere ? times[r].mpi : times[r].engine),
                       1e-6 * times[r].beside);
      }
    }
    return by_mpi;
  }

  bool several = false; // under way at a time
  int questions = 0;

private:
  void decide(bool wanted) {
    for (RouteTrials& trials : trials_) {
      if (wanted) {
        trials.decide(findings_);
      }
    }
  }

  std::array<RouteTrials, ranks> trials_ = [] {
    return []<std::size_t... r>(std::index_sequence<r...>) { return std::array{((void)r, RouteTrials(true))...}; }
    (std::make_index_sequence<ranks>());
  }();
  RouteTrials::Findings findings_{};
  std::uint64_t call_ = 0;
};

constexpr int tried_for = RouteTrials::of_short_calls.trial + RouteTrials::of_short_calls.lag;
constexpr int settled = RouteTrials::warm_up + 2 * tried_for;

TEST(RouteTrials, TheFasterOneIsTaken) {
  Ranks<1> engine_wins;
  EXPECT_EQ(engine_wins.go(200, {{{1.0, 2.0}}}), tried_for);
  Ranks<1> mpi_wins;
  EXPECT_EQ(mpi_wins.go(settled, {{{2.0, 1.0}}}), tried_for);
  EXPECT_EQ(mpi_wins.go(100, {{{2.0, 1.0}}}), 100);
}

TEST(RouteTrials, ATieChangesNothing) {
  Ranks<1> run;
  EXPECT_EQ(run.go(200, {{{1.0, 0.98}}}), tried_for);
}

TEST(RouteTrials, TheSlowestRankCounts) {
  Ranks<2> run;
  run.go(settled, {{{1.0, 2.0}, {4.0, 2.0}}});
  EXPECT_EQ(run.go(100, {{{1.0, 2.0}, {4.0, 2.0}}}), 100);
}

TEST(RouteTrials, IsTriedAgain) {
  Ranks<1> run;
  run.go(settled, {{{2.0, 1.0}}});
  const int by_mpi = run.go(10'000, {{{0.5, 1.0}}});
  EXPECT_GT(by_mpi, 0);
  EXPECT_LT(by_mpi, 2000);
  EXPECT_EQ(run.go(100, {{{0.5, 1.0}}}), 0);
}

// A decision for calls that are waited for at once does not hold for calls that the application computes beside.
TEST(RouteTrials, OverlappedCallsAreDecidedForThemselves) {
  Ranks<2> run;
  constexpr std::array<CallTimes, 2> prompt{{{2.0, 1.0, 0.9}, {2.0, 1.0, 0.9}}};     // what lies between any two calls
  constexpr std::array<CallTimes, 2> overlapped{{{2.2, 3.0, 2.0}, {2.2, 3.0, 0.1}}}; // one rank's are enough
  run.go(settled, prompt);
  EXPECT_EQ(run.go(40, prompt), 40);
  run.go(60, overlapped);
  EXPECT_EQ(run.go(100, overlapped), 0);
  run.go(40, prompt);
  EXPECT_EQ(run.go(20, prompt), 20);
  run.go(40, overlapped);
  EXPECT_EQ(run.go(20, overlapped), 0);
}

// A benchmark makes some hundred long calls without computation, then as many beside computation.
TEST(RouteTrials, LongCallsAreSoonOnTheRightRoute) {
  Ranks<2> run;
  constexpr std::array<CallTimes, 2> prompt{{{8000, 7000}, {8000, 7000}}};
  constexpr std::array<CallTimes, 2> overlapped{{{9000, 16000, 7000}, {9000, 16000, 7000}}};
  run.go(settled, prompt);
  EXPECT_EQ(run.go(50, prompt), 50);
  EXPECT_LE(run.go(10, overlapped), 8);
  EXPECT_EQ(run.go(100, overlapped), 0);
  EXPECT_EQ(run.go(200, overlapped),
            static_cast<int>(RouteTrials::of_long_calls.trial + RouteTrials::of_long_calls.lag));
}

// A question holds up calls that begin before it is answered.
TEST(RouteTrials, FewQuestionsWhereSeveralCallsAreUnderWay) {
  constexpr std::array<CallTimes, 2> overlapped{{{9000, 16000, 7000}, {9000, 16000, 7000}}};
  for (const bool several : {false, true}) {
    Ranks<2> run;
    run.several = several;
    run.go(settled + 40, overlapped);
    run.questions = 0;
    run.go(100, overlapped);
    if (several) {
      EXPECT_LE(run.questions, 9);
    } else {
      EXPECT_GE(run.questions, 20);
    }
  }
}

// Two ranks that start `depth` calls at a time and get through them in rounds, which may differ; their time is made by
// hand. Each call but the first that is waited for has mostly computation beside it.
class Rounds {
public:
  // `late`: no answer is there before all calls of a round have begun.
  Rounds(std::uint64_t depth, bool late) : depth_(depth), late_(late) {}
  void change_depth(std::uint64_t depth) { depth_ = depth; }
  // `seconds(route, round)`: of a round by the engine or the MPI library. Returns how many of the calls were MPI's.
  template <class Seconds>
  std::uint64_t go(std::uint64_t rounds, Seconds&& seconds) {
    std::uint64_t by_mpi = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::uint64_t of_round_by_mpi = 0;
      for (std::uint64_t i = 0; i < depth_; ++i) {
        begin(call_ + i, i);
        of_round_by_mpi += !late_ && is_mpis(call_ + i) ? 1 : 0;
      }
      for (std::uint64_t i = 0; late_ && i < depth_; ++i) {
        of_round_by_mpi += is_mpis(call_ + i) ? 1 : 0;
      }
      call_ += depth_;
      by_mpi += of_round_by_mpi;
      end_round(2 * of_round_by_mpi > depth_ ? Route::mpi : Route::engine, round, seconds);
      now_ += 1 + static_cast<double>(round % 3); // something else
    }
    return by_mpi;
  }

private:
  void begin(std::uint64_t call, std::uint64_t others) {
    for (RouteTrials& trials : trials_) {
      trials.note_start(call, others, now_);
    }
  }
  bool is_mpis(std::uint64_t call) {
    if (trials_[0].asks(call)) {
      asked_ = largest_findings(trials_);
    }
    if (trials_[0].decides(call)) {
      trials_[0].decide(asked_);
      trials_[1].decide(asked_);
    }
    EXPECT_EQ(trials_[0].route(), trials_[1].route());
    return trials_[0].route() == Route::mpi;
  }
  template <class Seconds>
  void end_round(Route route, std::uint64_t round, Seconds& seconds) {
    const double all = seconds(route, round);
    for (std::uint64_t i = 0; i < depth_; ++i) {
      now_ += all / static_cast<double>(depth_);
      for (RouteTrials& trials : trials_) {
        const double whole = all * static_cast<double>(i + 1) / static_cast<double>(depth_);
        trials.add(call_ - depth_ + i, route, whole, i == 0 ? 0 : 0.9 * whole);
        trials.note_end(now_);
      }
    }
  }

  std::uint64_t depth_;
  bool late_;
  std::uint64_t call_ = 0;
  double now_ = 1000;
  std::array<RouteTrials, 2> trials_{RouteTrials(true), RouteTrials(true)};
  RouteTrials::Findings asked_{};
};

class SeveralCalls : public testing::TestWithParam<std::tuple<std::uint64_t, bool>> {};

// The rounds on the way there take half the time of those on the way back, so that two calls say nothing of two routes.
TEST_P(SeveralCalls, AreComparedByHowFastTheProgramGetsThroughMany) {
  const auto [depth, late] = GetParam();
  for (const double engine_takes : {1.1, 0.9}) {
    const auto seconds = [&](Route route, std::uint64_t round) {
      return (route == Route::engine ? engine_takes : 1.0) * (round % 2 == 0 ? 1e-3 : 2e-3);
    };
    Rounds run(depth, late);
    run.go(80, seconds);
    EXPECT_EQ(run.go(60, seconds), engine_takes > 1 ? 60 * depth : 0) << engine_takes;
  }
}

// One of the windows is disturbed.
TEST_P(SeveralCalls, MayBeDisturbed) {
  const auto [depth, late] = GetParam();
  for (std::uint64_t disturbed = 0; disturbed < 60; disturbed += 4) {
    const auto seconds = [&](Route route, std::uint64_t round) {
      return (route == Route::engine ? 1.1e-3 : 1e-3) * (round / 4 == disturbed / 4 ? 2 : 1);
    };
    Rounds run(depth, late);
    run.go(80, seconds);
    EXPECT_EQ(run.go(60, seconds), 60 * depth) << disturbed;
  }
}

// A pipeline that has become shallow is compared by as many calls as it has.
TEST_P(SeveralCalls, MayBecomeFewer) {
  const auto [depth, late] = GetParam();
  const auto seconds = [](Route route, std::uint64_t) { return route == Route::engine ? 1e-3 : 2e-3; };
  const auto changed = [](Route route, std::uint64_t) { return route == Route::engine ? 2e-3 : 1e-3; };
  Rounds run(10 * depth, late);
  run.go(80, seconds);
  EXPECT_EQ(run.go(10, seconds), 0);
  run.change_depth(depth);
  run.go(80 * RouteTrials::growth * 10, changed);
  EXPECT_EQ(run.go(60, changed), 60 * depth);
}

TEST_P(SeveralCalls, AreTriedAgain) {
  const auto [depth, late] = GetParam();
  Rounds run(depth, late);
  run.go(80, [](Route route, std::uint64_t) { return route == Route::engine ? 2e-3 : 1e-3; });
  const auto changed = [](Route route, std::uint64_t) { return route == Route::engine ? 5e-4 : 1e-3; };
  run.go(2000, changed);
  EXPECT_EQ(run.go(20, changed), 0);
}

INSTANTIATE_TEST_SUITE_P(Depths, SeveralCalls, testing::Combine(testing::Values(2, 3, 8, 40, 100), testing::Bool()));

// Small calls of one rank or several, whose times are made by hand.
template <std::size_t ranks>
class SmallRanks {
public:
  explicit SmallRanks(bool takes_core = true)
      : trials_([&]<std::size_t... r>(std::index_sequence<r...>) {
          return std::array{((void)r, RouteTrials(true, Route::mpi, takes_core))...};
        }(std::make_index_sequence<ranks>())) {}
  struct Done {
    int passed = 0;
    int by_engine = 0;
  };
  // `computation(rank, call)`: what the application does beside, in microseconds.
  template <class Computation>
  Done go(int calls, double engine, double mpi, Computation&& computation) {
    Done done;
    for (int i = 0; i < calls; ++i, ++call_) {
      if (trials_[0].passes(call_)) {
        EXPECT_EQ(trials_[0].route(), Route::mpi);
        ++done.passed;
        continue;
      }
      if (trials_[0].asks(call_)) {
        findings_ = largest_findings(trials_);
      }
      if (trials_[0].decides(call_)) {
        for (RouteTrials& trials : trials_) {
          trials.decide(findings_);
        }
      }
      const Route route = trials_[0].route();
      EXPECT_TRUE(route == Route::mpi || trials_[0].needs_request());
      done.by_engine += route == Route::engine ? 1 : 0;
      for (std::size_t r = 0; r < ranks; ++r) {
        const double beside = computation(r, call_);
        const double inside = route == Route::mpi ? mpi : engine;
        trials_[r].add(call_, route, 1e-6 * (inside + beside), 1e-6 * beside);
      }
    }
    return done;
  }
  [[nodiscard]] bool needs_request() const { return trials_[0].needs_request(); }

private:
  std::array<RouteTrials, ranks> trials_ = [] {
    return []<std::size_t... r>(std::index_sequence<r...>) {
      return std::array{((void)r, RouteTrials(true, Route::mpi))...};
    }
    (std::make_index_sequence<ranks>());
  }();
  RouteTrials::Findings findings_{};
  std::uint64_t call_ = 0;
};

TEST(SmallCalls, ThatAreWaitedForAtOnceNeverLeaveMpi) {
  SmallRanks<2> run;
  const auto done = run.go(100'000, 1, 100, [](std::size_t, std::uint64_t) { return 0.5; });
  EXPECT_EQ(done.by_engine, 0);
  EXPECT_FALSE(run.needs_request());
  EXPECT_GT(done.passed, 95'000);
}

// One rank that computes is enough.
TEST(SmallCalls, ThatAreOverlappedAreTried) {
  SmallRanks<2> run;
  const auto computes = [](std::size_t r, std::uint64_t) { return r == 0 ? 500.0 : 0.0; };
  EXPECT_EQ(run.go(84, 5, 60, computes).by_engine, 0);
  EXPECT_FALSE(run.needs_request()); // they have not cost as much as making one yet
  run.go(166, 5, 60, computes);
  EXPECT_TRUE(run.needs_request());
  EXPECT_EQ(run.go(100, 5, 60, computes).by_engine, 100);
  const auto at_once = [](std::size_t, std::uint64_t) { return 0.0; };
  run.go(300, 80, 60, at_once);
  EXPECT_EQ(run.go(1000, 80, 60, at_once).by_engine, 0);
}

TEST(SmallCalls, StayWithMpiIfTheEngineDoesNotHideThem) {
  SmallRanks<1> run;
  const auto computes = [](std::size_t, std::uint64_t) { return 500.0; };
  constexpr int tried = RouteTrials::of_small_calls.trial + RouteTrials::of_small_calls.lag;
  EXPECT_EQ(run.go(1500, 60, 60, computes).by_engine, tried);
}

// Computation takes longer by chance in the trial of the engine, whose helper has a core of its own.
TEST(SmallCalls, OnlyTheTimeInsideCountsIfTheHelperHasItsOwnCore) {
  for (const bool takes_core : {false, true}) {
    SmallRanks<1> run(takes_core);
    const auto slower_in_trial = [](std::size_t, std::uint64_t call) {
      return call >= 148 && call < 172 ? 600.0 : 500.0;
    };
    run.go(200, 5, 60, slower_in_trial);
    EXPECT_EQ(run.go(100, 5, 60, slower_in_trial).by_engine, takes_core ? 0 : 100);
  }
}

// As the receivers of a broadcast, whose root has nothing to wait for.
TEST(SmallCalls, NoRankMayLoseMuch) {
  RouteTrials trials(true, Route::mpi);
  const auto decide = [&](double engine_inside, double mpi_inside) {
    trials.decide({1, engine_inside, mpi_inside, 0, -10e-6, -2e-6, -10e-6});
  };
  while (trials.route() == Route::mpi) {
    decide(60e-6, 50e-6);
  }
  decide(80e-6, 50e-6);
  EXPECT_EQ(trials.route(), Route::mpi);
  while (trials.route() == Route::mpi) {
    decide(60e-6, 50e-6);
  }
  decide(60e-6, 50e-6);
  EXPECT_EQ(trials.route(), Route::engine);
}

// What the computation takes tells nothing of the routes, unless it takes longer beside one of them at best.
TEST(SmallCalls, AreComparedByWhatTheyCost) {
  int right = 0;
  constexpr int runs = 50;
  for (unsigned seed = 1; seed <= runs; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> computation(1000, 1200);
    SmallRanks<1> run;
    right += run.go(500, 20, 60, [&](std::size_t, std::uint64_t) { return computation(random); }).by_engine > 300;
  }
  EXPECT_GE(right, runs * 9 / 10);
}

// As when more calls are under way than a trial has.
TEST(RouteTrials, ATrialWithoutTimesDecidesNothing) {
  RouteTrials trials(true);
  std::uint64_t call = 0;
  const auto go = [&](int calls, double mpi) {
    for (int i = 0; i < calls; ++i, ++call) {
      if (trials.decides(call)) {
        trials.decide({0, 20e-6, mpi, 0, 0, -20e-6, -mpi});
      }
    }
  };
  go(settled + 1, RouteTrials::unknown);
  EXPECT_EQ(trials.route(), Route::engine);
  go(200, 10e-6);
  EXPECT_EQ(trials.route(), Route::mpi);
}

TEST(RouteTrials, WithoutTrialsAllIsTheEngines) {
  const RouteTrials trials(false);
  EXPECT_EQ(trials.route(), Route::engine);
  EXPECT_FALSE(trials.on_trial());
  for (std::uint64_t call = 0; call < 1000; ++call) {
    EXPECT_FALSE(trials.asks(call) || trials.decides(call));
  }
}

TEST(RouteTrials, NothingIsTriedWithoutTimes) {
  RouteTrials trials(true);
  EXPECT_EQ(trials.findings()[1], RouteTrials::unknown);
  trials.decide(RouteTrials::nothing_found);
  EXPECT_EQ(trials.route(), Route::engine);
}

// Reading the clock costs short calls something.
TEST(RouteTrials, OnlyTheTimesBeforeAQuestionCount) {
  RouteTrials trials(true);
  const std::uint64_t question = RouteTrials::warm_up + RouteTrials::of_short_calls.trial;
  std::uint64_t call = 0;
  while (!trials.asks(call)) {
    EXPECT_EQ(trials.times(call), call + RouteTrials::of_short_calls.trial >= question) << call;
    ++call;
  }
  EXPECT_EQ(call, question);
  EXPECT_FALSE(RouteTrials(false).times(call));
}

// Calls with small numbers initialise requests.
TEST(RouteTrials, TheFirstCallsAreNotCompared) {
  RouteTrials trials(true);
  for (std::uint64_t call = 0; call < RouteTrials::warm_up; ++call) {
    trials.add(call, Route::engine, 1.0, 0);
  }
  EXPECT_EQ(trials.findings()[1], RouteTrials::unknown);
}

TEST(RouteTrials, TheFirstCallsMayBeTheMpiLibrarys) {
  const RouteTrials trials = RouteTrials::begun_by_mpi();
  for (std::uint64_t call = 0; call < 2 * RouteTrials::calls_by_mpi; ++call) {
    EXPECT_EQ(trials.route_of(call) == Route::mpi, call < RouteTrials::calls_by_mpi) << call;
    EXPECT_EQ(trials.asks(call), call == RouteTrials::calls_by_mpi + RouteTrials::of_short_calls.trial) << call;
  }
  EXPECT_EQ(RouteTrials(true).route_of(0), Route::engine);
}

// Calls that are waited for at once, of which the MPI library's take so long and the engine's twice that.
RouteTrials that_found_mpi_faster() {
  RouteTrials trials(true);
  for (std::uint64_t call = 0; call <= settled; ++call) {
    if (trials.decides(call)) {
      trials.decide({0, 20e-6, 10e-6, 0, 0, -20e-6, -10e-6});
    }
  }
  return trials;
}

TEST(RouteTrials, AnotherShapeBeginsWithWhatWasFound) {
  const RouteTrials another = that_found_mpi_faster().for_another();
  EXPECT_EQ(another.route_of(0), Route::mpi);
  EXPECT_EQ(another.decisions(), 0);
  EXPECT_EQ(another.findings(), RouteTrials(true).findings()) << "times of another shape";
  EXPECT_FALSE(another.on_trial());
}

TEST(RouteTrials, AnotherShapeTriesAgainLater) {
  RouteTrials another = that_found_mpi_faster().for_another();
  std::uint64_t call = 0;
  for (; another.route_of(call) == Route::mpi && call < 1000; ++call) {
    if (another.decides(call)) {
      another.decide({0, RouteTrials::unknown, 10e-6, 0, 0, -RouteTrials::unknown, -10e-6});
    }
  }
  EXPECT_GE(call, RouteTrials::first_retrial);
  EXPECT_LT(call, 1000);
}

TEST(RouteTrials, AnotherShapeBeginsWithTheMpiLibraryIfNothingWasFound) {
  RouteTrials trials(true);
  trials.decide({0, 20e-6, RouteTrials::unknown, 0, 0, -20e-6, -RouteTrials::unknown}); // to try the other one
  ASSERT_EQ(trials.route(), Route::mpi);
  const RouteTrials another = trials.for_another();
  EXPECT_EQ(another.route(), Route::engine);
  EXPECT_EQ(another.route_of(0), Route::mpi);
  EXPECT_TRUE(another.on_trial());
}

} // namespace
} // namespace stoker::engine
