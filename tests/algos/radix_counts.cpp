// SPDX-License-Identifier: BSD-3-Clause
// Messages and blocks of a tunable-radix all-to-all.
#include "radix_counts.hpp"

#include <stdexcept>

namespace stoker::algos {

RadixCounts radix_counts(std::uint64_t members, std::uint64_t radix) {
  if (members == 0 || radix < 2) {
    throw std::invalid_argument("a radix exchange needs a member and a radix of at least 2");
  }
  RadixCounts counts;
  if (members == 1) {
    return counts;
  }
  std::uint64_t digits = 0; // w = ceil(log_radix(members))
  std::uint64_t power = 1;  // radix^w
  while (power < members) {
    power *= radix;
    ++digits;
  }
  // Proposition 3, which is proposition 1 where members is a power of the radix.
  counts.messages = (digits * (radix - 1)) - ((power - members) / (power / radix));
  // Proposition 4: of the blocks with distances 0 to members - 1, those with the given digit.
  std::uint64_t unit = 1; // radix^x
  for (std::uint64_t x = 0; x < digits; ++x, unit *= radix) {
    const std::uint64_t whole = members / (unit * radix) * unit;
    const std::uint64_t rest = members % (unit * radix);
    for (std::uint64_t z = 1; z < radix; ++z) {
      counts.blocks += whole;
      if (rest > z * unit) {
        counts.blocks += rest - (z * unit) < unit ? rest - (z * unit) : unit;
      }
    }
  }
  return counts;
}

} // namespace stoker::algos
