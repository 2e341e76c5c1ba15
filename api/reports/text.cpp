// SPDX-License-Identifier: BSD-3-Clause
#include "api/reports/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>

namespace stoker::reports {

std::string one_line(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char letter) { return std::iscntrl(letter) != 0; }, ' ');
  return name;
}

namespace {

std::string calls_of(const Summary& summary) {
  if (summary.calls.empty()) {
    return "no call was carried out by the engine\n";
  }
  std::string text = fmt::format("{:<20} {:<12} {:<18} {:>9} {:>11} {:>10} {:>10} {:>10} {:>6}  {:<12} {:<24} {}\n",
                                 "collective", "form", "communicator", "calls", "bytes", "time (us)", "hidden",
                                 "exposed", "MPI's", "verdict", "called from", "algorithm");
  for (const auto& [group, sums] : summary.calls) {
    const auto calls = static_cast<double>(sums.calls);
    const double microseconds = 1e6 / calls;
    text += fmt::format(
        "{:<20} {:<12} {:<18} {:>9} {:>11.0f} {:>10.1f} {:>10.1f} {:>10.1f} {:>5.0f}%  {:<12} {:<24} {}\n",
        group.collective, group.form, one_line(group.communicator), sums.calls, static_cast<double>(sums.bytes) / calls,
        sums.exchange_seconds * microseconds, sums.hidden_seconds * microseconds, sums.exposed_seconds * microseconds,
        100 * static_cast<double>(sums.calls_by_mpi) / calls, verdict(sums, group.blocking()),
        one_line(fmt::format("{}", fmt::join(group.called_from, " < "))), sums.algorithm);
  }
  return text;
}

std::string left_of(const Summary& summary) {
  if (summary.left.empty()) {
    return {};
  }
  std::string text = "calls that were the MPI library's from the beginning:\n";
  for (const auto& [group, count] : summary.left) {
    text += fmt::format("{:<20} {:<12} {:>9}  {}\n", group.collective, group.form, count, group.reason);
  }
  return text;
}

std::string helpers_of(const Summary& summary) {
  std::string text;
  for (const Helper& helper : summary.helpers) {
    text += fmt::format("helper at rank {}: busy {:.3f} s, idle {:.3f} s, sleeping {:.3f} s; {} busy rounds, {} idle\n",
                        helper.rank, helper.busy_seconds, helper.idle_seconds, helper.sleeping_seconds,
                        helper.busy_rounds, helper.idle_rounds);
  }
  return text;
}

std::string background_of(const Background& background) {
  std::string text = fmt::format(
      "progress in the background: {} messages watched, {} unfinished, {} given up; {} polls took {:.3f} s\n",
      background.messages, background.unfinished, background.given_up, background.polls, background.poll_seconds);
  const auto time = [](const std::vector<double>& seconds) {
    return seconds.empty() ? std::string("not tried") : fmt::format("{:.1f} us", 1e6 * mean(seconds));
  };
  for (const auto& [bytes, learned] : background.help) {
    text += fmt::format("messages from {} bytes on: {} intervals, {} with help; with help {}, without {}; help pays at "
                        "{} of {} ranks\n",
                        bytes, learned.intervals, learned.helped_intervals, time(learned.helped_seconds),
                        time(learned.alone_seconds), learned.helped_ranks, learned.ranks);
  }
  return text;
}

} // namespace

std::string text_of(const Summary& summary) {
  return fmt::format("stoker: summary of {} ranks; calls of all, bytes and times of one on average\n", summary.ranks) +
         calls_of(summary) + left_of(summary) + helpers_of(summary) +
         (summary.in_background ? background_of(summary.background) : "");
}

} // namespace stoker::reports
