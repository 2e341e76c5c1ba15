// SPDX-License-Identifier: BSD-3-Clause
// What messages between two ranks cost, measured with MPI. Every function is collective over MPI_COMM_WORLD, and all
// ranks get the result. The shortest of several repetitions counts: what disturbs only makes things longer. Where a
// machine is disturbed all the time, a result may make no sense all the same, and be negative for instance.
#pragma once

#include "algos/select/machine.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace stoker::cli {

using RankPair = std::pair<int, int>;

inline constexpr std::size_t small_bytes = 8;
inline constexpr std::size_t large_bytes = std::size_t{1} << 20U;

// The straight line through the seconds of both lengths.
[[nodiscard]] algos::PortCost line(double small_seconds, double large_seconds);

struct MessageTimes {
  algos::PortCost one_way;     // half of a ping-pong
  double send_overhead = 0;    // the time in MPI_Send
  double receive_overhead = 0; // the time in MPI_Wait for a message that has arrived
  double stream = 0;           // of each further message of many short ones
};
[[nodiscard]] MessageTimes message_times(int rank, const RankPair& pair);

struct MatchingTimes {
  double post = 0;       // posting a receive
  double posted = 0;     // each posted receive that an arriving message is compared with
  double unexpected = 0; // each unexpected message that a receive is compared with
};
[[nodiscard]] MatchingTimes matching_times(int rank, const RankPair& pair);

// Seconds until all of `pairs` have sent a message at the same time.
[[nodiscard]] double all_at_once(int rank, const std::vector<RankPair>& pairs, std::size_t bytes);

// What copying within memory costs, by one rank alone.
[[nodiscard]] algos::PortCost copy_cost(int rank);

} // namespace stoker::cli
