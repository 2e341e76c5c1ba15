// SPDX-License-Identifier: BSD-3-Clause
// Numbers of two bytes against what their definitions say, computed in double; and products of complex numbers against
// the C++ library's.
#include "engine/data/element_operations.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>

namespace stoker::engine {
namespace {

// Sign, exponent and fraction of a number with so many digits of fraction.
double value_of(std::uint16_t bits, int fraction_bits) {
  const int exponent_bits = 15 - fraction_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  double magnitude = std::ldexp(fraction, 1 - bias - fraction_bits);
  if (exponent == (1 << exponent_bits) - 1) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent != 0) {
    magnitude = std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  }
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

template <class T, int fraction_bits>
void expect_all_values() {
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const T number{static_cast<std::uint16_t>(bits)};
    const double expected = value_of(number.bits, fraction_bits);
    const float value = number;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T::rounded(value)))) << bits;
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
      ASSERT_EQ(T::rounded(value).bits, bits);
    }
  }
}

// The nearest number, the even one of two; the next one beyond the largest counts as infinity.
template <class T, int fraction_bits>
void expect_rounded(float number) {
  const std::uint16_t bits = T::rounded(number).bits;
  ASSERT_EQ(bits >> 15 != 0, std::signbit(number)) << number;
  const double magnitude = std::fabs(static_cast<double>(number));
  const auto finite = [](int place) { // as if there were no infinity
    const double value = value_of(static_cast<std::uint16_t>(place), fraction_bits);
    const double largest = value_of(static_cast<std::uint16_t>(place - 1), fraction_bits);
    return std::isinf(value) ? 2 * largest - value_of(static_cast<std::uint16_t>(place - 2), fraction_bits) : value;
  };
  const int place = bits & 0x7fff;
  const double distance = std::fabs(finite(place) - magnitude);
  if (std::isinf(value_of(static_cast<std::uint16_t>(place), fraction_bits)) && magnitude > finite(place)) {
    return;
  }
  if (place > 0) {
    const double below = std::fabs(finite(place - 1) - magnitude);
    ASSERT_TRUE(distance < below || (distance == below && place % 2 == 0)) << number;
  }
  if (!std::isinf(value_of(static_cast<std::uint16_t>(place), fraction_bits))) {
    const double above = std::fabs(finite(place + 1) - magnitude);
    ASSERT_TRUE(distance < above || (distance == above && place % 2 == 0)) << number;
  }
}

template <class T, int fraction_bits>
void expect_nearest() {
  std::mt19937 random(1);
  for (int i = 0; i < 200'000; ++i) { // any float
    const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(number) && !std::isinf(number)) {
      ASSERT_NO_FATAL_FAILURE((expect_rounded<T, fraction_bits>(number)));
    }
  }
  for (unsigned bits = 0; bits < 0x7fff; ++bits) { // in the middle between neighbors, and beside it
    const auto at = static_cast<std::uint16_t>(bits);
    const double next = value_of(static_cast<std::uint16_t>(bits + 1), fraction_bits);
    const double middle = (value_of(at, fraction_bits) + next) / 2;
    if (!std::isfinite(middle) || middle > std::numeric_limits<float>::max()) {
      continue;
    }
    const auto number = static_cast<float>(middle);
    for (const float beside : {std::nextafter(number, 0.0F), number, -number, std::nextafter(number, 1e30F)}) {
      ASSERT_NO_FATAL_FAILURE((expect_rounded<T, fraction_bits>(beside)));
    }
  }
}

TEST(NarrowFloats, HalfIsBinary16) {
  expect_all_values<Half, 10>();
  expect_nearest<Half, 10>();
  EXPECT_EQ(Half::rounded(65519.0F).bits, 0x7bff);
  EXPECT_EQ(Half::rounded(65520.0F).bits, 0x7c00) << "infinity";
}

TEST(NarrowFloats, BFloat16IsTheUpperHalfOfAFloat) {
  expect_all_values<BFloat16, 7>();
  expect_nearest<BFloat16, 7>();
  EXPECT_EQ(BFloat16::rounded(std::numeric_limits<float>::max()).bits, 0x7f80) << "infinity";
}

// Rounding twice is rounding once.
template <class T>
void expect_exact_arithmetic() {
  std::mt19937 random(2);
  for (int i = 0; i < 200'000; ++i) {
    const T left{static_cast<std::uint16_t>(random())};
    const T right{static_cast<std::uint16_t>(random())};
    const double sum =
        static_cast<double>(left) + static_cast<double>(right); // exact, or far beyond the digits of float
    const T rounded = combined<ReduceOp::sum>(left, right);
    if (std::isfinite(static_cast<float>(rounded)) && std::isfinite(sum)) {
      const T below{static_cast<std::uint16_t>(rounded.bits - 1)};
      const T above{static_cast<std::uint16_t>(rounded.bits + 1)};
      const double distance = std::fabs(static_cast<double>(rounded) - sum);
      for (const T other : {below, above}) {
        if (std::isfinite(static_cast<float>(other)) && (rounded.bits & 0x7fffU) != 0) {
          ASSERT_LE(distance, std::fabs(static_cast<double>(other) - sum)) << left << " + " << right;
        }
      }
    }
  }
}

TEST(NarrowFloats, SumsAreTheNearestNumbers) {
  expect_exact_arithmetic<Half>();
  expect_exact_arithmetic<BFloat16>();
}

TEST(ComplexNumbers, MultiplyAsInTheLibrary) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {0, -0.0, 1, -2.5, 1e200, -1e300, infinity, -infinity, std::nan("")};
  const auto same = [](double a, double b) {
    return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  };
  for (const double a : values) {
    for (const double b : values) {
      for (const double c : values) {
        for (const double d : values) {
          const std::complex<double> expected = std::complex(a, b) * std::complex(c, d);
          const Complex<double> product = combined<ReduceOp::prod>(Complex<double>{a, b}, Complex<double>{c, d});
          EXPECT_TRUE(same(expected.real(), product.real) && same(expected.imag(), product.imaginary))
              << std::complex(a, b) << " * " << std::complex(c, d) << " is " << expected << ", not "
              << std::complex(product.real, product.imaginary);
        }
      }
    }
  }
}

} // namespace
} // namespace stoker::engine
