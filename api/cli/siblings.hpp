// SPDX-License-Identifier: BSD-3-Clause
// Tries out what one process may do with another's memory, between two children of this process. The children are
// siblings, as the ranks of a node are. So the trial shows a rule that allows access to a parent but not to a sibling
// (Yama).
#pragma once

#include "engine/shared/arena.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace stoker::cli {

// The memory that the first child offers to the second.
struct Offer {
  pid_t pid = 0;
  std::uint64_t address = 0; // of a word in private memory ...
  std::uint64_t word = 0;    // ... that holds this
  engine::ArenaDescriptor arena;
  std::uint64_t arena_stamp = 0;
  std::uint64_t arena_offset = 0; // of a word in the arena that holds the same
};

struct Outcome {
  int error = 0;       // errno; 0: it worked
  std::string message; // empty when it worked
};

// Runs `attempt` in the second child. A child that dies or hangs is an outcome too.
[[nodiscard]] Outcome between_siblings(Outcome (*attempt)(const Offer&));

} // namespace stoker::cli
