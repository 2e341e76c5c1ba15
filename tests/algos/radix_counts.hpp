// SPDX-License-Identifier: BSD-3-Clause
// Messages and blocks of a tunable-radix all-to-all in closed form (Fan et al., "Configurable Algorithms for All-to-All
// Collectives", 2024, propositions 1 to 4).
#pragma once

#include <cstdint>

namespace stoker::algos {

struct RadixCounts {
  std::uint64_t messages = 0; // K: sent by each member
  std::uint64_t blocks = 0;   // D: sent by each member, forwarded ones included
  bool operator==(const RadixCounts&) const = default;
};

// Among `members`, which are at least 1; radix is at least 2.
[[nodiscard]] RadixCounts radix_counts(std::uint64_t members, std::uint64_t radix);

} // namespace stoker::algos
