// SPDX-License-Identifier: BSD-3-Clause
#include "api/reports/summary.hpp"

#include <numeric>

namespace stoker::reports {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

} // namespace

void CallSums::add(const CallSums& other) {
  calls += other.calls;
  calls_by_mpi += other.calls_by_mpi;
  bytes += other.bytes;
  exchange_seconds += other.exchange_seconds;
  hidden_seconds += other.hidden_seconds;
  exposed_seconds += other.exposed_seconds;
  if (!other.algorithm.empty()) {
    algorithm = other.algorithm;
  }
}

void MessageHelp::add(const MessageHelp& other) {
  ranks += other.ranks;
  helped_ranks += other.helped_ranks;
  intervals += other.intervals;
  helped_intervals += other.helped_intervals;
  append(helped_seconds, other.helped_seconds);
  append(alone_seconds, other.alone_seconds);
}

void Background::add(const Background& other) {
  messages += other.messages;
  unfinished += other.unfinished;
  given_up += other.given_up;
  polls += other.polls;
  poll_seconds += other.poll_seconds;
  for (const auto& [bytes, learned] : other.help) {
    help[bytes].add(learned);
  }
}

void Summary::add(const Summary& other) {
  ranks += other.ranks;
  hosts.insert(other.hosts.begin(), other.hosts.end());
  for (const auto& [group, sums] : other.calls) {
    calls[group].add(sums);
  }
  for (const auto& [group, count] : other.left) {
    left[group] += count;
  }
  append(helpers, other.helpers);
  in_background = in_background || other.in_background;
  background.add(other.background);
}

std::string_view verdict(const CallSums& sums, bool blocking) {
  if (sums.calls == 0 || 2 * sums.calls_by_mpi > sums.calls) {
    return "left to MPI";
  }
  if (sums.hidden_seconds > sums.exchange_seconds / 4) {
    return "worth it";
  }
  if (sums.calls_by_mpi == 0) {
    return "not compared";
  }
  // A blocking call cannot hide anything: the engine has kept it because it was faster on trial.
  return blocking ? "worth it" : "not worth it";
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

} // namespace stoker::reports
