// SPDX-License-Identifier: BSD-3-Clause
#include "api/reports/advice.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace stoker::reports {

std::string_view name_of(Plan plan) {
  static constexpr std::array<std::string_view, plan_count> names{"by default", "if overlapped", "with --blocking",
                                                                  "with --p2p", "left to MPI"};
  return names[static_cast<std::size_t>(plan)];
}

void AdvisedSums::add(const AdvisedSums& other) {
  calls += other.calls;
  bytes += other.bytes;
  call_seconds += other.call_seconds;
  computing_seconds += other.computing_seconds;
  exposed_seconds += other.exposed_seconds;
  test_seconds += other.test_seconds;
  hideable_seconds += other.hideable_seconds;
}

void Advice::add(const Advice& other) {
  ranks += other.ranks;
  hosts.insert(other.hosts.begin(), other.hosts.end());
  seconds += other.seconds;
  mpi_seconds += other.mpi_seconds;
  for (const auto& [group, sums] : other.calls) {
    calls[group].add(sums);
  }
  not_followed += other.not_followed;
}

CoreForHelper core_for_helper(const Advice& advice) {
  const double ranks = std::max(advice.ranks, 1);
  CoreForHelper core{.ranks_per_node = ranks / static_cast<double>(std::max<std::size_t>(advice.hosts.size(), 1)),
                     .computing_seconds = (advice.seconds - advice.mpi_seconds) / ranks};
  for (const auto& [group, sums] : advice.calls) {
    if (group.plan != name_of(Plan::left)) {
      core.hideable_seconds += sums.hideable_seconds / ranks;
    }
  }
  return core;
}

} // namespace stoker::reports
