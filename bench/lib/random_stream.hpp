// SPDX-License-Identifier: BSD-3-Clause
// The random numbers of HPC Challenge's RandomAccess: a shift register over GF(2), from any place of the sequence on.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace stoker::bench {

constexpr std::uint64_t next_random(std::uint64_t value) {
  constexpr std::uint64_t polynomial = 7;
  return (value << 1U) ^ ((value >> 63U) != 0 ? polynomial : 0);
}

// Number n of the sequence that begins 1, 2, 4, ...: x^n modulo the polynomial, by squaring.
constexpr std::uint64_t random_at(std::uint64_t n) {
  std::array<std::uint64_t, 64> squares{}; // of x^i: x^2i
  std::uint64_t power = 1;
  for (auto& square : squares) {
    square = power;
    power = next_random(next_random(power));
  }
  std::uint64_t value = 1;
  for (int bit = static_cast<int>(std::bit_width(n)) - 1; bit >= 0; --bit) {
    std::uint64_t squared = 0;
    for (unsigned i = 0; i < 64; ++i) {
      squared ^= ((value >> i) & 1U) != 0 ? squares[i] : 0;
    }
    value = ((n >> static_cast<unsigned>(bit)) & 1U) != 0 ? next_random(squared) : squared;
  }
  return value;
}

} // namespace stoker::bench
