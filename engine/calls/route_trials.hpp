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
//
// Calls of which several are under way at a time are a third thing. The time of each is mostly computation for others,
// and the first that is waited for is charged with the exchange of the next. What can be compared is how fast the
// program gets through many of them: the time in which any is under way, for each call that began in it. Whatever else
// runs on the machine makes that longer, for many calls at once; so the routes take turns, and their best times count.
//
// Small calls begin with the MPI library, and stay there for as long as the application waits for them at once. It
// need not be asked about each of them: most pass. If a look at some finds them overlapped, the engine's request is
// made, and the engine tried.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace stoker::engine {

enum class Route : std::uint8_t { engine, mpi };

// One per shape. Pure: the caller brings the times, and the largest of all ranks.
class RouteTrials {
public:
  // `on`: whether there are trials; else all calls are carried out by `first`. Route::mpi: they are small.
  // `takes_core`: the helper may take time from the core of the thread that makes the calls.
  explicit RouteTrials(bool on, Route first = Route::engine, bool takes_core = true)
      : on_(on), small_(first == Route::mpi),
        takes_core_(takes_core), kinds_{{{.usual = first}, {.usual = first}, {.usual = first}}},
        pace_(small_ ? of_small_calls : of_short_calls), next_question_(warm_up + pace_.trial) {}
  // The first calls are the MPI library's: there may never be more, and none of them waits for a request.
  [[nodiscard]] static RouteTrials begun_by_mpi() {
    RouteTrials trials(true);
    trials.begin_with_mpi();
    return trials;
  }
  // Those of another shape, to begin with the routes that these have settled on. Not of small calls.
  [[nodiscard]] RouteTrials for_another() const;

  // Whether every rank gives its findings before it starts this call, and whether a decision has to be made before it.
  [[nodiscard]] bool asks(std::uint64_t call) const { return on_ && call == next_question_; }
  [[nodiscard]] bool decides(std::uint64_t call) const { return on_ && call == next_question_ + pace_.lag; }
  // Whether this call, the next one, is the MPI library's and nothing need be known of it.
  [[nodiscard]] bool passes(std::uint64_t call) const {
    return small_ && route() == Route::mpi && !times(call) && !asks(call) && !decides(call);
  }
  // Whether the engine may be asked to carry out calls, for which it needs a request.
  [[nodiscard]] bool needs_request() const { return !small_ || prepared_; }
  // Whether the ranks have last found that several calls are under way at a time.
  [[nodiscard]] bool several() const { return several_agreed_; }
  // How often the ranks have decided.
  [[nodiscard]] std::uint64_t decisions() const { return decisions_; }
  // The route of the call that is started next; but for the first ones, the same for all calls until the next decision.
  [[nodiscard]] Route route_of(std::uint64_t call) const { return call < mpi_until_ ? Route::mpi : route(); }
  [[nodiscard]] Route route() const { return now().trying ? other(now().usual) : now().usual; }
  // Whether it is one of those that are, or will be, compared.
  [[nodiscard]] bool on_trial() const { return on_ && (comparing() || (!small_ && !now().decided)); }

  // Whether the time of this call may count: only the latest calls before a question do.
  [[nodiscard]] bool times(std::uint64_t call) const {
    return on_ && call + pace_.trial >= next_question_ && (!small_ || call < next_question_);
  }
  // That a call begins, the next one, or that one has ended, at a time in seconds. `others`: how many of the shape are
  // under way.
  void note_start(std::uint64_t call, std::uint64_t others, double now);
  void note_end(double now);
  // Notes the time of a call that was started without delay, from its start to the end of its completion. `beside`: the
  // part of it in which the application did something else.
  void add(std::uint64_t call, Route route, double seconds, double beside);
  // Whether at least half of the latest calls were overlapped (1 or 0); the costs of the engine's and of MPI's calls,
  // for small calls the times inside of them; how many were under way at most since the latest decision, 0 unless at
  // least half of the latest calls began while others were. Then, with the sign changed, so that the least of all ranks
  // is agreed on: the time inside of the usual route's calls, and the costs of the engine's and of MPI's calls.
  // `unknown` where there is no time.
  using Findings = std::array<double, 7>;
  // Where these are; for a route, at its number from there on.
  static constexpr std::size_t overlapped_at = 0;
  static constexpr std::size_t most_cost_at = 1;
  static constexpr std::size_t several_at = 3;
  static constexpr std::size_t least_inside_at = 4; // the sign changed, as that of the next two
  static constexpr std::size_t least_cost_at = 5;
  [[nodiscard]] Findings findings() const;
  // The largest of all ranks.
  void decide(const Findings& largest);

  struct Pace {
    std::size_t trial;         // calls of each that are compared
    std::uint64_t lag;         // calls from a question to the decision
    std::uint64_t settling;    // calls from the decision to those that are compared
    int turns;                 // of the other route, between those of the usual one, before the two are compared
    std::uint64_t least_apart; // calls between questions while nothing is tried
    std::uint64_t most_apart;
  };
  static constexpr Pace of_small_calls{16, 4, 0, 1, 64, 512};
  static constexpr Pace of_short_calls{8, 2, 0, 1, 12, 128};
  static constexpr Pace of_long_calls{3, 2, 0, 1, 4, 4};
  // So many are under way at a time. An answer that has as many calls' time to arrive holds nobody up. As many again
  // that began before a decision may be under way after it. Those that are compared make some rounds of the program,
  // which need not be alike.
  [[nodiscard]] static constexpr Pace of_several_calls(std::uint64_t depth) {
    const std::size_t trial = depth * rounds;
    return {trial, depth, depth, 2, trial + 2 * depth, std::max<std::uint64_t>(of_short_calls.most_apart, 4 * trial)};
  }
  static constexpr std::uint64_t rounds = 4;          // of as many calls as are under way
  static constexpr double long_seconds = 1e-3;        // from where on a call is long
  static constexpr std::uint64_t warm_up = 4;         // the first calls initialise requests
  static constexpr std::uint64_t calls_by_mpi = 16;   // where the MPI library begins
  static constexpr std::uint64_t first_retrial = 256; // and the first trial of long calls that are overlapped
  static constexpr std::uint64_t growth = 16;         // of the number of calls after which both are tried again
  static constexpr double gain = 0.03;                // of its time that another has to save
  static constexpr double most_loss = 0.25;           // of the time inside of small calls, on the rank with the longest
  static constexpr double small_gain = 0.1;           // of the time inside of small calls, which computation hides
  static constexpr double worth_a_request = 5e-3;     // seconds inside of small calls: what making one costs the ranks
  static constexpr double overlapped = 0.25;          // of the time of a call, that the application did something else
  static constexpr double least_beside = 1e-6;        // less than that it does between any two calls
  static constexpr double unknown = 1e30;
  static constexpr Findings nothing_found{0, unknown, unknown, 0, 0, -unknown, -unknown};

private:
  // The latest values.
  class Latest {
  public:
    void add(double value) { values_[count_++ % values_.size()] = value; }
    void clear() { count_ = 0; }
    // The median, and the least, of the latest `most` values; `unknown` if there is none.
    [[nodiscard]] double median(std::size_t most) const;
    [[nodiscard]] double least(std::size_t most) const;

  private:
    std::array<double, of_small_calls.trial> values_{};
    std::size_t count_ = 0;
  };
  // The time in which something is under way.
  class Busy {
  public:
    // Something begins or ends, at a time that is mostly later than the one before.
    void note(bool was_busy, double now) {
      total_ += was_busy ? std::max(now - since_, 0.0) : 0;
      since_ = std::max(since_, now);
    }
    [[nodiscard]] double total() const { return total_; }

  private:
    double total_ = 0;
    double since_ = 0; // the latest note
  };
  // Times of the latest calls on a route.
  struct Times {
    Latest inside; // of the calls
    Latest beside;
    Latest whole; // both
    // The time in which any is under way, of several at a time, for each call that began in it; the least of the turns.
    double busy_each = unknown;
    // What one call costs the application: the time inside of it, and what the computation beside it takes at least,
    // which is longer where the helper takes from its core. Computations differ from call to call by more than calls
    // do, so their median would tell which route had the longer ones. Of several small ones the whole time counts.
    [[nodiscard]] double cost(std::size_t most, bool several, bool takes_core) const;
  };
  // The state of one kind of calls.
  struct Kind {
    Route usual = Route::engine;
    bool trying = false;  // the other one
    int turns = 0;        // of the other one that are complete, before the two are compared
    bool decided = false; // whether both have been tried
    std::array<Times, 2> times{};
    std::uint64_t next_trial = 0; // counted in calls of all kinds
  };

  [[nodiscard]] const Kind& now() const { return kinds_[kind_]; }
  [[nodiscard]] std::uint64_t earliest_trial() const; // of the present kind
  [[nodiscard]] bool comparing() const { return now().trying || now().turns > 0; }

  void begin_with_mpi() {
    mpi_until_ = calls_by_mpi;
    next_question_ = calls_by_mpi + pace_.trial;
  }

  static Route other(Route route) { return route == Route::engine ? Route::mpi : Route::engine; }

  [[nodiscard]] bool may_try() const;                     // the other route, for the present kind
  [[nodiscard]] bool pays(const Findings& largest) const; // to change to the other route

  bool on_;
  bool small_;
  bool takes_core_;
  bool prepared_ = false; // small calls have been overlapped, for long enough
  bool several_agreed_ = false;
  bool known_ = false; // which kind it is
  static constexpr std::size_t at_once = 0;
  static constexpr std::size_t overlapping = 1;
  static constexpr std::size_t several_at_a_time = 2;
  std::size_t kind_ = overlapping;
  std::array<Kind, 3> kinds_;
  Latest overlaps_;             // 1 or 0
  Latest several_;              // likewise
  std::uint64_t depth_ = 0;     // most calls under way since the latest decision
  std::uint64_t under_way_ = 0; // as the latest call began
  std::uint64_t depth_agreed_ = 0;
  Busy busy_;
  std::optional<double> busy_before_; // its total as the first call began that is compared
  Pace pace_;
  std::uint64_t next_question_;
  std::uint64_t mpi_until_ = 0; // this call, whatever the route is
  std::uint64_t decisions_ = 0;
};

} // namespace stoker::engine
