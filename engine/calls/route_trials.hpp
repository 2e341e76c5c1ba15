// SPDX-License-Identifier: BSD-3-Clause
// Who carries out the calls of a shape, the engine or the MPI library: whichever has been faster. Both are tried, at
// the same calls on all ranks, and what follows from their times the ranks decide together, some calls later, so that
// no call has to wait for it.
//
// A call that the application waits for at once and one that it computes beside are different things, and a program may
// do first the one and then the other with calls of the same shape, as benchmarks do. So there is a decision for
// either, and the ranks also agree on which of them the latest calls have been. For long calls that are made one at a
// time, fewer are tried and the ranks agree more often: agreeing costs little beside such a call, and a call on the
// wrong route costs much. If several are under way, a call would have to wait for the agreement before it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stoker::engine {

enum class Route : std::uint8_t { engine, mpi };

// One per shape. Pure: the caller brings the times, and the largest of all ranks.
class RouteTrials {
public:
  // `on`: whether there are trials; else all calls are the engine's.
  explicit RouteTrials(bool on) : on_(on) {}

  // Whether every rank gives its findings before it starts this call, and whether a decision has to be made before it.
  [[nodiscard]] bool asks(std::uint64_t call) const { return on_ && call == next_question_; }
  [[nodiscard]] bool decides(std::uint64_t call) const { return on_ && call == next_question_ + lag; }
  // The route of the call that is started next.
  [[nodiscard]] Route route() const { return now().trying ? other(now().usual) : now().usual; }
  // Whether it is one of those that are, or will be, compared.
  [[nodiscard]] bool on_trial() const { return on_ && (now().trying || !now().decided); }

  // Whether the time of this call may count: only the latest calls before a question do.
  [[nodiscard]] bool times(std::uint64_t call) const { return on_ && call + pace_.trial >= next_question_; }
  // Whether others of the shape are under way as a call begins.
  void note_start(bool others) { several_.add(others ? 1 : 0); }
  // Notes the time of a call that was started without delay, from its start to the end of its completion. `beside`: the
  // part of it in which the application did something else.
  void add(std::uint64_t call, Route route, double seconds, double beside);
  // Whether at least half of the latest calls were overlapped (1 or 0), the medians of the engine's and of MPI's times,
  // `unknown` where there is no time, and whether at least half began while others were under way.
  using Findings = std::array<double, 4>;
  [[nodiscard]] Findings findings() const;
  // The largest of all ranks.
  void decide(const Findings& largest);

  struct Pace {
    std::size_t trial;         // calls of each that are compared
    std::uint64_t least_apart; // calls between questions while nothing is tried
    std::uint64_t most_apart;
  };
  static constexpr Pace of_short_calls{8, 12, 128};
  static constexpr Pace of_long_calls{3, 4, 4};
  static constexpr double long_seconds = 1e-3;        // from where on a call is long
  static constexpr std::uint64_t warm_up = 4;         // the first calls initialise requests
  static constexpr std::uint64_t lag = 2;             // calls from a question to the decision
  static constexpr std::uint64_t first_retrial = 256; // and the first trial of long calls that are overlapped
  static constexpr std::uint64_t growth = 16;         // of the number of calls after which both are tried again
  static constexpr double gain = 0.03;                // of its time that another has to save
  static constexpr double overlapped = 0.25;          // of the time of a call, that the application did something else
  static constexpr double least_beside = 1e-6;        // less than that it does between any two calls
  static constexpr double unknown = 1e30;
  static constexpr Findings nothing_found{0, unknown, unknown, 0};

private:
  // The latest values.
  class Latest {
  public:
    void add(double value) { values_[count_++ % values_.size()] = value; }
    void clear() { count_ = 0; }
    // The median of the latest `most` values; `unknown` if there is none.
    [[nodiscard]] double median(std::size_t most) const;

  private:
    std::array<double, of_short_calls.trial> values_{};
    std::size_t count_ = 0;
  };
  // The state of one kind of calls: waited for at once, or overlapped.
  struct Kind {
    Route usual = Route::engine;
    bool trying = false;  // the other one
    bool decided = false; // whether both have been tried
    std::array<Latest, 2> times;
    std::uint64_t next_trial = 0; // counted in calls of both kinds
  };

  [[nodiscard]] const Kind& now() const { return kinds_[kind_]; }
  [[nodiscard]] std::uint64_t earliest_trial() const; // of the present kind

  static Route other(Route route) { return route == Route::engine ? Route::mpi : Route::engine; }

  bool on_;
  bool known_ = false;   // which kind it is
  std::size_t kind_ = 1; // 1: overlapped
  std::array<Kind, 2> kinds_;
  Latest overlaps_; // 1 or 0
  Latest several_;  // likewise
  Pace pace_ = of_short_calls;
  std::uint64_t next_question_ = warm_up + of_short_calls.trial;
};

} // namespace stoker::engine
