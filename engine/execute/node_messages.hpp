// SPDX-License-Identifier: BSD-3-Clause
// Messages between two ranks of a node, which go through a channel: short ones through its slots, long ones from the
// sender's buffers, or in pieces (piece_messages.hpp).
#pragma once

#include "engine/execute/program.hpp"

#include <cstdint>

namespace stoker::engine {

// What became of an attempt to go on with a step, the least first.
enum class Attempt : std::uint8_t {
  nothing, // the other rank has to do something first
  soon,    // likewise, but that is a matter of microseconds, in which nobody should give up the core
  moved,   // something was done
  done,
};

// What a sender does for the receivers of its long messages beyond announcing them.
enum class Help : std::uint8_t {
  none,           // the rank computes meanwhile
  where_combined, // the rank is in a call of the engine, and has something else to do
  everywhere,     // it has not
};

[[nodiscard]] Attempt try_send(const Program& program, const StepView& view, std::uint64_t epoch, Help help);
// `index`: of the step.
[[nodiscard]] Attempt try_recv(const Program& program, const StepView& view, std::uint32_t index, std::uint64_t epoch);

// The slot of an epoch's message; of a long one, which has no slots, the word that tells of it.
[[nodiscard]] ChannelSlot& slot_of(const StepView& view, std::uint64_t epoch);

} // namespace stoker::engine
