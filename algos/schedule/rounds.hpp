// SPDX-License-Identifier: BSD-3-Clause
// The messages of a whole schedule by the round in which they can travel, if every message took one round and
// everything else no time.
#pragma once

#include "algos/schedule/schedule.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stoker::algos {

struct RoundMessage {
  int round = 0; // counts from 1
  int source = 0;
  int target = 0;
  std::uint64_t bytes = 0;
};

// In the order of their rounds. `programs` holds one for each rank, in rank order. Throws std::invalid_argument when
// they do not match, or wait for each other.
[[nodiscard]] std::vector<RoundMessage> messages_by_round(std::span<const Program> programs);

} // namespace stoker::algos
