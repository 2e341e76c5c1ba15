// SPDX-License-Identifier: BSD-3-Clause
// The application's long point-to-point messages that are under way, if they are to make progress in the background
// (STOKER_PMPI_P2P=1).
#pragma once

#include <cstdint>
#include <vector>

namespace stoker::pmpi {

// Once MPI is initialised, and there is a thread for progress in the background. `on`: whether to watch at all.
void start_watching(bool on);
// Messages that are started while it is paused are not watched.
void pause_watching(bool paused);
// What is still under way is forgotten.
void stop_watching();
// For that thread, now and then: gives up messages that have been under way for so long that nobody seems to complete
// them, as far as this library can see.
void give_up_old_messages();

// Sums for the summary.
struct WatchedSums {
  std::uint64_t messages = 0;
  std::uint64_t unfinished = 0; // under way at present
  std::uint64_t given_up = 0;
};
[[nodiscard]] WatchedSums watched_sums();
// Returns what they were.
WatchedSums reset_watched_sums();

// What was learned of intervals that began with a message of at least so many bytes, a power of two, and less than
// twice as many.
struct LearnedHelp {
  std::uint64_t bytes = 0;
  std::uint64_t intervals = 0;
  std::uint64_t helped = 0;
  bool helps = false;
  double helped_seconds = 0; // an interval with help; 0: unknown
  double alone_seconds = 0;
};
[[nodiscard]] std::vector<LearnedHelp> learned_help();

} // namespace stoker::pmpi
