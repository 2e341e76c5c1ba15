// SPDX-License-Identifier: BSD-3-Clause
// Who carries out the calls of a shape, the engine or the MPI library: whichever has been faster. Both are tried, at the same
// calls on all ranks, and what follows from their times the ranks decide together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stoker::engine {

enum class Route : std::uint8_t { engine, mpi };

// One per shape. Pure: the caller brings the times, and the largest of all ranks.
class RouteTrials {
public:
  // Of calls without trials: all the engine's.
  explicit RouteTrials(bool on) : on_(on) {}

  // Of the call of that number; calls from a decision on are asked for once that is made.
  [[nodiscard]] Route route(std::uint64_t call) const { return tries(call) ? other(usual_) : usual_; }
  // Whether it is one of those that are compared.
  [[nodiscard]] bool on_trial(std::uint64_t call) const { return on_ && (tries(call) || call < first_trial); }
  // Whether the ranks have to decide before this call.
  [[nodiscard]] bool decides(std::uint64_t call) const { return on_ && call == trial_begin_ + trial; }

  // A call that was started without delay took so long, from its start to the end of its completion.
  void add(std::uint64_t call, Route route, double seconds);
  // Of the engine and of MPI; unknown where there is no time.
  using Medians = std::array<double, 2>;
  [[nodiscard]] Medians medians() const { return {times_[0].median(), times_[1].median()}; }
  // The largest medians of all ranks.
  void decide(const Medians& largest);

  static constexpr std::uint64_t trial = 8;   // calls of the one that is not usual
  static constexpr std::uint64_t warm_up = 4; // the first calls initialise requests
  static constexpr std::uint64_t first_trial = warm_up + trial;
  static constexpr std::uint64_t growth = 16; // of the numbers at which trials begin
  static constexpr double gain = 0.03;        // of its time that another has to save
  static constexpr double unknown = 1e30;

private:
  // The latest `trial` calls.
  class Times {
  public:
    void add(double seconds) { times_[count_++ % trial] = seconds; }
    [[nodiscard]] double median() const;

  private:
    std::array<double, trial> times_{};
    std::size_t count_ = 0;
  };

  [[nodiscard]] bool tries(std::uint64_t call) const {
    return on_ && call >= trial_begin_ && call < trial_begin_ + trial;
  }
  static Route other(Route route) { return route == Route::engine ? Route::mpi : Route::engine; }

  bool on_;
  Route usual_ = Route::engine;
  std::uint64_t trial_begin_ = first_trial;
  std::array<Times, 2> times_;
};

} // namespace stoker::engine
