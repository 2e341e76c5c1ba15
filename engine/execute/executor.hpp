// SPDX-License-Identifier: BSD-3-Clause
// Runs the steps of a program. The same code serves the helper, the inline executor and a rank that assists: whoever
// holds the block's ownership calls it. No allocation, no recursion, no blocking.
#pragma once

#include "engine/execute/program.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace stoker::engine {

// Fills the work lists with the steps that wait for nothing. Called by the rank, in Start, while the block is inactive.
void begin_epoch(const Program& program, std::uint64_t epoch);

// Runs every copy and node step that can run now. Wire steps that became ready are left in the block's wire list.
// Returns whether anything moved, or is about to. Throws Error(peer_lost) if the state of the epoch is damaged.
bool advance(const Program& program, std::uint64_t epoch, ExecutorId executor);

// A wire step's message, or what a window step does, is done.
struct WireEvent {
  std::uint32_t step = 0;
  std::uint64_t bytes = 0;             // of what was received
  int error = 0;                       // a Code
  bool out_of_step = false;            // then no later epoch may run
  std::string text{};                  // empty unless error
  std::unique_ptr<std::byte[]> data{}; // received, where the step has no place that MPI could write to
};
// Called by the thread that polls MPI. Throws as advance() does.
void finish_wire_step(const Program& program, const WireEvent& event);

// Publishes the end of the epoch if no step is left; returns whether it did. Nothing but the ownership may be touched
// after that. The thread that waits for the epoch need not wake itself.
enum class Publisher : std::uint8_t { helper, waiting_rank };
bool publish_if_complete(const Program& program, std::uint64_t epoch, Publisher publisher);

// In a long wait: whether the words of the epoch's state, and of the channels of the rank, can be right.
[[nodiscard]] bool plausible(const Program& program, std::uint64_t epoch);

} // namespace stoker::engine
