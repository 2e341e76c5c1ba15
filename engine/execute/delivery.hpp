// SPDX-License-Identifier: BSD-3-Clause
// What steps that move data have in common: a message is brought to its place, and what goes wrong is recorded.
#pragma once

#include "engine/base/error.hpp"
#include "engine/execute/program.hpp"
#include "engine/shared/access.hpp"

#include <cstddef>
#include <cstdint>

namespace stoker::engine {

// Finishes a recv whose message lies at `message`. Returns what transfer() does.
[[nodiscard]] int receive(const Program& program, const StepView& view, const Place& message);
[[nodiscard]] int receive(const Program& program, const StepView& view, std::byte* message, std::uint64_t bytes);

// Notes how much came. Less may come than was expected, as with MPI; more is recorded as an error.
void note_length(const Program& program, const StepView& view, std::uint32_t index, std::uint64_t bytes);

// Records the first error of the epoch. The program goes on, so that no other rank is left waiting for it.
void record_error(Block& block, int error, const char* text);
// That the message of a step could not be fetched, or read.
void record_not_fetched(const Program& program, const StepView& view, Code code, const char* reason);
// Likewise, if `failure`, which transfer() returned, is one.
void check_transfer(const Program& program, const StepView& view, int failure);

} // namespace stoker::engine
