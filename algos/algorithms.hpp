// SPDX-License-Identifier: BSD-3-Clause
// The algorithms' entry points, one for each registry row, and the patterns that they share.
#pragma once

#include "algos/builder.hpp"
#include "algos/exchange.hpp"

#include <span>

namespace stoker::algos {

[[nodiscard]] Program compile_nonblocking(const Exchange& exchange);
[[nodiscard]] Program compile_hierarchical(const Exchange& exchange);

// Appends the direct exchange between this rank and the other `members`, which hold this rank too; its own block
// included. The building block wherever a larger algorithm has a group whose ranks talk to each other directly.
void append_nonblocking(Builder& builder, const Exchange& exchange, std::span<const int> members);

} // namespace stoker::algos
