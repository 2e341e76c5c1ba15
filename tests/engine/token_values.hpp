// SPDX-License-Identifier: BSD-3-Clause
// A byte for each of the verifier's tokens, another one in every epoch. Combined bytes are the exclusive or of their
// inputs.
#pragma once

#include "algos/verify/terms.hpp"

#include <cstddef>
#include <cstdint>

namespace stoker::tests {

[[nodiscard]] inline std::byte value_of(algos::Token token, std::uint64_t epoch, const algos::Terms& terms) {
  if (algos::is_combined(token)) {
    std::byte result{};
    for (const algos::Token input : terms.inputs(token)) {
      result ^= value_of(input, epoch, terms);
    }
    return result;
  }
  return static_cast<std::byte>((((token + (epoch << 32U)) * 0x9e3779b97f4a7c15U) >> 40U) & 0xffU);
}

} // namespace stoker::tests
