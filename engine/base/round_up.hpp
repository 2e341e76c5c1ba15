// SPDX-License-Identifier: BSD-3-Clause
// Sizes and places in multiples of a unit.
#pragma once

#include <cstdint>

namespace stoker::engine {

[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

} // namespace stoker::engine
