// SPDX-License-Identifier: BSD-3-Clause
// Whether a thread that drives the MPI library while the application computes is worth its processor time. The thread
// helps in some intervals and not in others. An interval lasts from the start of the first of some messages to the end
// of the call that completes the last. What the thread costs and what it gains are both in the interval's time.
//
// Nothing depends on the answer but time, so each process decides for itself. Trials are counted in intervals alone:
// processes that exchange with each other have the same number of those, and try at the same time.
#pragma once

#include "engine/helper/recent_times.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace stoker::engine {

// One for intervals of a kind. Pure: the caller brings the times.
class HelpTrials {
public:
  // Called as the next interval begins: returns whether to help in it.
  [[nodiscard]] bool start();
  // That interval took so long. `beside_ns`: the part of it in which the application was not waiting for its messages.
  void finished(std::uint64_t interval_ns, std::uint64_t beside_ns);

  // Whether help pays, as far as is known.
  [[nodiscard]] bool helps() const { return helps_; }
  // Medians of the latest intervals with help and without it; nothing where there were too few.
  [[nodiscard]] std::optional<std::uint64_t> median_ns(bool with_help) const;

  static constexpr std::size_t trial = 5;           // intervals of one trial
  static constexpr std::uint64_t first_trial = 16;  // intervals before the first one, and after a change
  static constexpr std::uint64_t most_apart = 4096; // between trials, which come ever more rarely
  static constexpr std::uint64_t gain = 32;         // help has to save one part in so many
  static constexpr int prompt_intervals = 4;        // in a row, with less than that to gain: then there is no help

private:
  [[nodiscard]] const RecentTimes<trial>& times(bool with_help) const { return with_help ? with_ : without_; }
  void end_trial();

  bool helps_ = true; // outside trials
  bool trying_ = false;
  bool helped_ = true; // in the current interval
  int prompt_ = 0;     // intervals in a row
  std::uint64_t interval_ = 0;
  std::uint64_t next_trial_ = first_trial;
  std::uint64_t apart_ = first_trial;
  RecentTimes<trial> with_;
  RecentTimes<trial> without_;
};

} // namespace stoker::engine
