// SPDX-License-Identifier: BSD-3-Clause
// In which order a block has the steps of a program, and in which its executors begin them.
//
// An exchange of very many messages has few of them under way at a time, if it can: no step waits for another, and the
// messages are in the order of the distance between their two ranks, in which sender and receiver agree. Then nobody
// waits in a circle. Of all messages that are not done consider one of the least distance. Before it on either rank's
// list are only messages of less distance, which are done, and such as are in the same stretch of the program, of which
// there are half as many as may be posted. So both ranks have posted it.
#pragma once

#include "engine/shared/block.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stoker::engine {

struct StepOrder {
  std::vector<std::uint32_t> places;  // by number in the block: place in the program
  std::vector<std::uint32_t> numbers; // by place in the program: number in the block
  std::uint32_t messages = 0;         // the last numbers
  std::uint32_t most_posted = 0;      // at a time
};

// `steps`: by place. `most_messages`: at a time, where messages may wait for others; at least 2.
[[nodiscard]] StepOrder order_of(const algos::Program& program, std::span<const LoweredStep> steps,
                                 std::uint32_t most_messages);

// The numbers of the steps that are ready at Start, in the order of BlockHeader::roots_at. `steps`, `predecessors`: by
// number.
[[nodiscard]] std::vector<std::uint32_t> roots_of(const StepOrder& order, std::span<const LoweredStep> steps,
                                                  std::span<const std::uint32_t> predecessors);

} // namespace stoker::engine
