// SPDX-License-Identifier: BSD-3-Clause
// What a process, or a job, has spent in all: for the line of a job, and for tools, which read that of a process.
#pragma once

#include "api/reports/summary.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace stoker::reports {

struct Totals {
  std::uint64_t calls_by_engine = 0;
  std::uint64_t calls_by_mpi = 0;
  std::uint64_t bytes = 0;
  double exchange_seconds = 0;
  double hidden_seconds = 0;
  double exposed_seconds = 0;
  double helpers_busy_seconds = 0;
  double helpers_idle_seconds = 0;
  double helpers_sleeping_seconds = 0;
  std::uint64_t helpers_busy_rounds = 0;
  std::uint64_t helpers_idle_rounds = 0;
  std::uint64_t messages_watched = 0;
  std::uint64_t messages_given_up = 0;
  std::uint64_t polls = 0;
  double poll_seconds = 0;

  void add(const CallSums& sums);
  void add(const Helper& helper);
  void add(const Background& background);
};
[[nodiscard]] Totals totals_of(const Summary& summary);

enum class Quantity : std::uint8_t { events, bytes, seconds };

struct TotalRow {
  std::string_view name; // of the member, as JSON has it
  std::string_view help;
  Quantity quantity;
  std::variant<std::uint64_t Totals::*, double Totals::*> member;
};
// One for each member of Totals.
[[nodiscard]] std::span<const TotalRow> total_rows();

} // namespace stoker::reports
