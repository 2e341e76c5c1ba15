// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of predefined operators where it is easily wrong: integers that wrap around, unsigned ones beyond the
// signed range, truths other than 1, NaN, equal values, padding, operands that are the target. What is ordinary is
// compared with the MPI library by tests/api/operations.cpp.
#include "engine/data/reduction_kernels.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <limits>
#include <vector>

namespace stoker::engine {
namespace {

// Elements at an address that suits no type, with a byte before and behind them that nothing may touch.
template <class T>
class Elements {
public:
  explicit Elements(const std::vector<T>& values) : bytes_(values.size() * sizeof(T) + 2, guard) {
    std::memcpy(data(), values.data(), size());
  }
  std::byte* data() { return bytes_.data() + 1; }
  [[nodiscard]] std::uint64_t size() const { return bytes_.size() - 2; }
  std::vector<T> values() {
    EXPECT_EQ(bytes_.front(), guard);
    EXPECT_EQ(bytes_.back(), guard);
    std::vector<T> result(size() / sizeof(T));
    std::memcpy(result.data(), data(), size());
    return result;
  }

private:
  static constexpr std::byte guard{0xa5};
  std::vector<std::byte> bytes_;
};

// Repeated, so that there are elements for vector instructions and a rest.
template <class T>
std::vector<T> repeated(const std::vector<T>& values) {
  std::vector<T> result;
  for (int i = 0; i < 23; ++i) {
    result.insert(result.end(), values.begin(), values.end());
  }
  return result;
}

template <class T>
void expect(OperationCode code, const std::vector<T>& few_left, const std::vector<T>& few_right,
            const std::vector<T>& few_expected) {
  ASSERT_TRUE(combinable(code));
  ASSERT_EQ(size_of(code.type), sizeof(T));
  const std::vector<T> expected = repeated(few_expected);
  Elements<T> left(repeated(few_left));
  Elements<T> right(repeated(few_right));
  Elements<T> target(std::vector<T>(expected.size()));
  combine(code, target.data(), left.data(), right.data(), target.size());
  EXPECT_EQ(target.values(), expected);
  EXPECT_EQ(left.values(), repeated(few_left));
  EXPECT_EQ(right.values(), repeated(few_right));
  Elements<T> in_left(repeated(few_left));
  combine(code, in_left.data(), in_left.data(), right.data(), right.size());
  EXPECT_EQ(in_left.values(), expected) << "in the left operand's place";
  combine(code, right.data(), left.data(), right.data(), right.size());
  EXPECT_EQ(right.values(), expected) << "in the right operand's place";
}

template <class T>
constexpr T least = std::numeric_limits<T>::min();
template <class T>
constexpr T most = std::numeric_limits<T>::max();

template <class T>
void expect_wrapping(ReduceType type) {
  expect<T>({ReduceOp::sum, type}, {most<T>, 3, least<T>}, {1, 4, 1}, {least<T>, 7, static_cast<T>(least<T> + 1)});
  expect<T>({ReduceOp::prod, type}, {most<T>, 5}, {2, 7}, {static_cast<T>(-2), 35});
  expect<T>({ReduceOp::prod, type}, {most<T>}, {most<T>}, {1});
}

TEST(ReductionKernels, IntegersWrapAround) {
  expect_wrapping<std::int8_t>(ReduceType::int8);
  expect_wrapping<std::int16_t>(ReduceType::int16);
  expect_wrapping<std::int32_t>(ReduceType::int32);
  expect_wrapping<std::int64_t>(ReduceType::int64);
  expect<std::uint16_t>({ReduceOp::prod, ReduceType::uint16}, {0xffff}, {0xffff}, {1});
  expect<std::uint64_t>({ReduceOp::sum, ReduceType::uint64}, {most<std::uint64_t>}, {2}, {1});
}

template <class T>
void expect_ordered(ReduceType type) {
  expect<T>({ReduceOp::max, type}, {most<T>, 1, 5, least<T>}, {1, most<T>, 5, 1}, {most<T>, most<T>, 5, 1});
  expect<T>({ReduceOp::min, type}, {most<T>, 1, 5, least<T>}, {1, most<T>, 5, 1}, {1, 1, 5, least<T>});
}

TEST(ReductionKernels, LargeAndNegativeIntegersAreOrdered) {
  expect_ordered<std::int8_t>(ReduceType::int8);
  expect_ordered<std::uint8_t>(ReduceType::uint8);
  expect_ordered<std::int16_t>(ReduceType::int16);
  expect_ordered<std::uint16_t>(ReduceType::uint16);
  expect_ordered<std::int32_t>(ReduceType::int32);
  expect_ordered<std::uint32_t>(ReduceType::uint32);
  expect_ordered<std::int64_t>(ReduceType::int64);
  expect_ordered<std::uint64_t>(ReduceType::uint64);
}

TEST(ReductionKernels, WhatIsNotZeroIsTrue) {
  using T = std::uint32_t;
  const std::vector<T> left{0, 0, 8, 8};
  const std::vector<T> right{0, 7, 0, 7};
  expect<T>({ReduceOp::land, ReduceType::uint32}, left, right, {0, 0, 0, 1});
  expect<T>({ReduceOp::lor, ReduceType::uint32}, left, right, {0, 1, 1, 1});
  expect<T>({ReduceOp::lxor, ReduceType::uint32}, left, right, {0, 1, 1, 0});
  expect<T>({ReduceOp::band, ReduceType::uint32}, left, right, {0, 0, 0, 0});
  expect<T>({ReduceOp::bor, ReduceType::uint32}, left, right, {0, 7, 8, 15});
  expect<T>({ReduceOp::bxor, ReduceType::uint32}, left, right, {0, 7, 8, 15});
}

TEST(ReductionKernels, TheLeftOperandBesideNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
    double target = 0;
    const auto combined = [&](double left, double right) {
      combine({op, ReduceType::float64}, reinterpret_cast<std::byte*>(&target), reinterpret_cast<std::byte*>(&left),
              reinterpret_cast<std::byte*>(&right), sizeof target);
      return target;
    };
    EXPECT_EQ(combined(1, nan), 1);
    EXPECT_NE(combined(nan, 1), combined(nan, 1)) << "NaN is equal to nothing";
  }
}

TEST(ReductionKernels, ComplexNumbersAsInC) {
  using T = std::complex<double>;
  const double infinity = std::numeric_limits<double>::infinity();
  expect<T>({ReduceOp::sum, ReduceType::complex_float64}, {{1, 2}}, {{3, 5}}, {{4, 7}});
  expect<T>({ReduceOp::prod, ReduceType::complex_float64}, {{1, 2}}, {{3, 5}}, {{-7, 11}});
  // Where the textbook's formula gives NaN.
  expect<T>({ReduceOp::prod, ReduceType::complex_float64}, {{infinity, infinity}}, {{1, 0}}, {{infinity, infinity}});
}

// As they are where each operation is rounded by itself. An instruction that multiplies and adds would round once.
template <class T>
void expect_either_order(ReduceType type) {
  std::vector<std::complex<T>> left;
  std::vector<std::complex<T>> right;
  for (int i = 1; i <= 100; ++i) {
    const T value = static_cast<T>(i);
    left.emplace_back(1 / value, value / 7);
    right.emplace_back(value / 3, 1 / (value + 1));
  }
  Elements<std::complex<T>> one(left);
  Elements<std::complex<T>> other(right);
  Elements<std::complex<T>> product(left);
  Elements<std::complex<T>> swapped(left);
  combine({ReduceOp::prod, type}, product.data(), one.data(), other.data(), one.size());
  combine({ReduceOp::prod, type}, swapped.data(), other.data(), one.data(), one.size());
  EXPECT_EQ(product.values(), swapped.values());
}

TEST(ReductionKernels, ComplexProductsAreTheSameInEitherOrder) {
  expect_either_order<float>(ReduceType::complex_float32);
  expect_either_order<double>(ReduceType::complex_float64);
  expect_either_order<long double>(ReduceType::complex_long_float);
}

struct DoubleInt {
  double value;
  int location;
  bool operator==(const DoubleInt&) const = default;
};

TEST(ReductionKernels, LocationsOfExtremes) {
  const std::vector<DoubleInt> left{{1, 10}, {2, 10}, {3, 10}, {3, 4}};
  const std::vector<DoubleInt> right{{2, 7}, {1, 7}, {3, 7}, {3, 7}};
  expect<DoubleInt>({ReduceOp::maxloc, ReduceType::float64_int}, left, right, {{2, 7}, {2, 10}, {3, 7}, {3, 4}});
  expect<DoubleInt>({ReduceOp::minloc, ReduceType::float64_int}, left, right, {{1, 10}, {1, 7}, {3, 7}, {3, 4}});
}

TEST(ReductionKernels, PaddingOfTheTargetStays) {
  constexpr std::size_t padding = offsetof(DoubleInt, location) + sizeof(int);
  std::vector<std::byte> left(sizeof(DoubleInt), std::byte{1});
  std::vector<std::byte> right(sizeof(DoubleInt), std::byte{2});
  std::vector<std::byte> target(sizeof(DoubleInt), std::byte{3});
  combine({ReduceOp::maxloc, ReduceType::float64_int}, target.data(), left.data(), right.data(), target.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    EXPECT_EQ(target[i], i < padding ? right[i] : std::byte{3}) << "byte " << i;
  }
}

TEST(ReductionKernels, AllThreeMayBeTheSame) {
  std::vector<std::int32_t> values(37);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int32_t>(i);
  }
  auto* const data = reinterpret_cast<std::byte*>(values.data());
  combine({ReduceOp::sum, ReduceType::int32}, data, data, data, values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], 2 * static_cast<std::int32_t>(i));
  }
}

TEST(ReductionKernels, NoBytesAreNoElements) {
  combine({ReduceOp::sum, ReduceType::float64}, nullptr, nullptr, nullptr, 0);
  std::byte target{9};
  std::byte operand{1};
  combine({ReduceOp::sum, ReduceType::uint8}, &target, &operand, &operand, 0);
  EXPECT_EQ(target, std::byte{9});
}

TEST(ReductionKernels, OnlyWhatMakesSense) {
  EXPECT_FALSE(combinable({ReduceOp::none, ReduceType::int32}));
  EXPECT_FALSE(combinable({ReduceOp::user, ReduceType::int32}));
  EXPECT_FALSE(combinable({ReduceOp::band, ReduceType::float64}));
  EXPECT_FALSE(combinable({ReduceOp::max, ReduceType::complex_float64}));
  EXPECT_FALSE(combinable({ReduceOp::sum, ReduceType::int_int}));
  EXPECT_FALSE(combinable({ReduceOp::maxloc, ReduceType::int32}));
}

} // namespace
} // namespace stoker::engine
