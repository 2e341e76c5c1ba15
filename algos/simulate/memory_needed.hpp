// SPDX-License-Identifier: BSD-3-Clause
// The memory that a simulation takes, before it begins.
#pragma once

#include "algos/simulate/simulate.hpp"
#include "topology/layout.hpp"

#include <cstdint>

namespace stoker::algos {

// Bytes that simulate() allocates at most for these programs. They are judged by those of some ranks of some nodes, for
// which `program_of` is called. A direct exchange is given up to half more than it takes; others more than that, where
// messages are delivered faster than this reckons with. `compilers`: as for simulate().
[[nodiscard]] std::uint64_t memory_needed(const topology::Layout& layout, const ProgramOf& program_of,
                                          int compilers = 1);

} // namespace stoker::algos
