// SPDX-License-Identifier: BSD-3-Clause
// Floating-point numbers of two bytes, which are computed with as float. A sum or a product of two of them, rounded to
// float and then to two bytes, is what rounding once would give: float has more than twice as many digits, and two.
// They are plain structs, because packed ones have them as members.
// constexpr: nvcc compiles them for devices as well (--expt-relaxed-constexpr).
#pragma once

#include <bit>
#include <cstdint>

namespace stoker::engine {

// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
struct Half {
  std::uint16_t bits;

  // NOLINTNEXTLINE(google-explicit-constructor): every value is a float's, too
  constexpr operator float() const {
    const auto sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
    const std::uint32_t exponent = bits >> 10U & 0x1fU;
    const std::uint32_t fraction = bits & 0x3ffU;
    if (exponent == 0) { // zero, or subnormal: so many times 2^-24
      const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
      return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t wide_exponent = exponent == 0x1f ? 0xff : exponent + (127 - 15);
    return std::bit_cast<float>(sign | wide_exponent << 23U | fraction << 13U);
  }
  // To the nearest, to the even one of two.
  static constexpr Half rounded(float number) {
    const auto wide = std::bit_cast<std::uint32_t>(number);
    const std::uint32_t sign = wide >> 16U & 0x8000U;
    const std::uint32_t magnitude = wide & 0x7fff'ffffU;
    std::uint32_t narrow = 0;
    if (magnitude > 0x7f80'0000U) { // NaN
      narrow = 0x7e00U | (magnitude >> 13U & 0x3ffU);
    } else if (magnitude >= 0x477f'f000U) { // beyond the largest one, 65504, by half of its last digit or more
      narrow = 0x7c00U;
    } else if (magnitude < 0x3880'0000U) { // below the least normal one, 2^-14: the sum's last digit counts 2^-24
      narrow = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f00'0000U;
    } else {
      const std::uint32_t rebased = magnitude - ((127U - 15U) << 23U);
      narrow = (rebased + 0xfffU + (rebased >> 13U & 1U)) >> 13U;
    }
    return {static_cast<std::uint16_t>(sign | narrow)};
  }
};

// The upper half of a float.
struct BFloat16 {
  std::uint16_t bits;

  // NOLINTNEXTLINE(google-explicit-constructor): every value is a float's, too
  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }
  // To the nearest, to the even one of two.
  static constexpr BFloat16 rounded(float number) {
    const auto wide = std::bit_cast<std::uint32_t>(number);
    if ((wide & 0x7fff'ffffU) > 0x7f80'0000U) { // NaN, which stays one
      return {static_cast<std::uint16_t>(wide >> 16U | 0x40U)};
    }
    return {static_cast<std::uint16_t>((wide + 0x7fffU + (wide >> 16U & 1U)) >> 16U)};
  }
};

} // namespace stoker::engine
