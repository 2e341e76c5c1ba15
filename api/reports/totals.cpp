// SPDX-License-Identifier: BSD-3-Clause
#include "api/reports/totals.hpp"

#include <array>

namespace stoker::reports {

void Totals::add(const CallSums& sums) {
  calls_by_engine += sums.calls - sums.calls_by_mpi;
  calls_by_mpi += sums.calls_by_mpi;
  bytes += sums.bytes;
  exchange_seconds += sums.exchange_seconds;
  hidden_seconds += sums.hidden_seconds;
  exposed_seconds += sums.exposed_seconds;
}

void Totals::add(const Helper& helper) {
  helpers_busy_seconds += helper.busy_seconds;
  helpers_idle_seconds += helper.idle_seconds;
  helpers_sleeping_seconds += helper.sleeping_seconds;
  helpers_busy_rounds += helper.busy_rounds;
  helpers_idle_rounds += helper.idle_rounds;
}

void Totals::add(const Background& background) {
  messages_watched += background.messages;
  messages_given_up += background.given_up;
  polls += background.polls;
  poll_seconds += background.poll_seconds;
}

Totals totals_of(const Summary& summary) {
  Totals totals;
  for (const auto& [group, sums] : summary.calls) {
    totals.add(sums);
  }
  for (const auto& [group, count] : summary.left) {
    totals.calls_by_mpi += count;
  }
  for (const Helper& helper : summary.helpers) {
    totals.add(helper);
  }
  totals.add(summary.background);
  return totals;
}

std::span<const TotalRow> total_rows() {
  using enum Quantity;
  using T = Totals;
  static constexpr std::array<TotalRow, 15> rows{{
      {"calls_by_engine", "collective calls that the engine carried out", events, &T::calls_by_engine},
      {"calls_by_mpi", "collective calls that the MPI library carried out: trials, and calls that were left to it",
       events, &T::calls_by_mpi},
      {"bytes", "bytes of the collective calls that were the engine's, with those that it left to the MPI library",
       bytes, &T::bytes},
      {"exchange_seconds", "time of these calls from start until their last step was done", seconds,
       &T::exchange_seconds},
      {"hidden_seconds", "part of exchange_seconds that passed while the application computed", seconds,
       &T::hidden_seconds},
      {"exposed_seconds", "time that the application spent inside MPI for these calls", seconds, &T::exposed_seconds},
      {"helpers_busy_seconds", "time that helper threads spent in rounds that moved something", seconds,
       &T::helpers_busy_seconds},
      {"helpers_idle_seconds", "time that helper threads were awake without anything to move", seconds,
       &T::helpers_idle_seconds},
      {"helpers_sleeping_seconds", "time that helper threads were asleep", seconds, &T::helpers_sleeping_seconds},
      {"helpers_busy_rounds", "rounds in which requests of a helper moved, also those that waiting ranks ran", events,
       &T::helpers_busy_rounds},
      {"helpers_idle_rounds", "rounds in which no request of a helper moved", events, &T::helpers_idle_rounds},
      {"messages_watched", "long messages that were to make progress in the background (STOKER_PMPI_P2P)", events,
       &T::messages_watched},
      {"messages_given_up", "those of them that were given up, because nobody seemed to complete them", events,
       &T::messages_given_up},
      {"polls", "calls of the MPI library for progress in the background", events, &T::polls},
      {"poll_seconds", "time inside these calls", seconds, &T::poll_seconds},
  }};
  return rows;
}

} // namespace stoker::reports
