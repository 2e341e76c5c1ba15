// SPDX-License-Identifier: BSD-3-Clause
// What a helper has done, counted in the shared memory of the rank that hosts it.
#pragma once

#include "engine/shared/ring.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace stoker::engine {

struct HelperStatistics {
  struct Rounds {
    std::uint64_t busy = 0; // that moved something
    std::uint64_t idle = 0;
  };
  double busy_seconds = 0;                    // in rounds that moved something
  double idle_seconds = 0;                    // in other rounds, and awake between rounds
  double sleeping_seconds = 0;                // else
  std::array<Rounds, submitted_kinds> rounds; // of the poller of each kind
};

// Counted by whoever runs the helper's rounds, one thread at a time, so that nothing has to be read and written in one
// step. Read by any rank of the node; each number is right, together they may be of two moments.
class HelperCounters {
public:
  void begin(std::uint64_t now_ns) { begun_ns_.store(now_ns, std::memory_order_relaxed); }
  void count_round(Submitted kind, bool moved) {
    Rounds& rounds = rounds_[static_cast<std::size_t>(kind)];
    add(moved ? rounds.busy : rounds.idle, 1);
  }
  void count_busy(std::uint64_t ns) { add(busy_ns_, ns); }
  void count_idle(std::uint64_t ns) { add(idle_ns_, ns); }

  // All 0 if there is no helper.
  [[nodiscard]] HelperStatistics sums(std::uint64_t now_ns) const {
    const auto value = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
    HelperStatistics sums;
    if (value(begun_ns_) == 0) {
      return sums;
    }
    const std::uint64_t awake_ns = value(busy_ns_) + value(idle_ns_);
    const std::uint64_t age_ns = now_ns - value(begun_ns_);
    sums.busy_seconds = 1e-9 * static_cast<double>(value(busy_ns_));
    sums.idle_seconds = 1e-9 * static_cast<double>(value(idle_ns_));
    sums.sleeping_seconds = age_ns > awake_ns ? 1e-9 * static_cast<double>(age_ns - awake_ns) : 0;
    for (std::size_t kind = 0; kind < rounds_.size(); ++kind) {
      sums.rounds[kind] = {.busy = value(rounds_[kind].busy), .idle = value(rounds_[kind].idle)};
    }
    return sums;
  }

private:
  using Counter = std::atomic<std::uint64_t>;
  struct Rounds {
    Counter busy{0};
    Counter idle{0};
  };
  static void add(Counter& counter, std::uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  Counter begun_ns_{0};
  Counter busy_ns_{0};
  Counter idle_ns_{0};
  std::array<Rounds, submitted_kinds> rounds_;
};

} // namespace stoker::engine
