// SPDX-License-Identifier: BSD-3-Clause
// What each of MPI's predefined operators makes of two elements of each type: for the loops of processors
// (reduction_kernels.cpp) and for those of devices (engine/device). constexpr: nvcc compiles them for devices as well
// (--expt-relaxed-constexpr).
#pragma once

#include "engine/data/narrow_floats.hpp"
#include "engine/data/reduction_kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace stoker::engine {

// std::complex is no plain struct, so it cannot be a member of a packed one.
template <class T>
struct Complex {
  T real;
  T imaginary;
};

template <class Value, class Location>
struct Pair {
  Value value;
  Location location;
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Complex<T>> = true;
template <class T>
inline constexpr bool is_pair = false;
template <class Value, class Location>
inline constexpr bool is_pair<Pair<Value, Location>> = true;
template <class T>
inline constexpr bool is_narrow_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class... T>
struct TypeList {};
// By ReduceType, in the order of the enumeration.
using ReducedTypes =
    TypeList<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t,
             std::uint64_t, float, double, long double, Complex<float>, Complex<double>, Complex<long double>,
             Pair<float, int>, Pair<double, int>, Pair<long double, int>, Pair<long, int>, Pair<short, int>,
             Pair<int, int>, Pair<float, float>, Pair<double, double>, Half, BFloat16>;
inline constexpr std::size_t reduce_ops = static_cast<std::size_t>(ReduceOp::user) + 1;

// Integers wrap around. The type is at least as wide as int: narrower ones would be promoted to int, and could
// overflow.
template <class T>
using Wrapping = std::make_unsigned_t<std::common_type_t<T, int>>;

// Whether an operator has a meaning on a type; MPI allows less.
template <ReduceOp op, class T>
constexpr bool takes() {
  switch (op) {
  case ReduceOp::none:
  case ReduceOp::user:
    return false;
  case ReduceOp::sum:
  case ReduceOp::prod:
    return !is_pair<T>;
  case ReduceOp::max:
  case ReduceOp::min:
    return std::is_arithmetic_v<T> || is_narrow_float<T>;
  case ReduceOp::maxloc:
  case ReduceOp::minloc:
    return is_pair<T>;
  default:
    return std::is_integral_v<T>;
  }
}

// For equal values: the one with the smaller location.
template <class T>
constexpr T at_smaller_location(T left, T right) {
  return {right.value, right.location < left.location ? right.location : left.location};
}

template <class T>
constexpr bool is_nan(T number) {
  return number != number; // NOLINT(misc-redundant-expression)
}
template <class T>
constexpr bool is_infinite(T number) {
  return number == std::numeric_limits<T>::infinity() || number == -std::numeric_limits<T>::infinity();
}
template <class T>
constexpr T with_sign_of(T magnitude, T number) {
  return __builtin_signbit(number) != 0 ? -magnitude : magnitude;
}

template <class T>
constexpr Complex<T> without_nan(Complex<T> number) {
  return {is_nan(number.real) ? with_sign_of(T{0}, number.real) : number.real,
          is_nan(number.imaginary) ? with_sign_of(T{0}, number.imaginary) : number.imaginary};
}
// 1 for what is infinite, 0 for the rest.
template <class T>
constexpr Complex<T> direction_of(Complex<T> number) {
  return {with_sign_of(is_infinite(number.real) ? T{1} : T{0}, number.real),
          with_sign_of(is_infinite(number.imaginary) ? T{1} : T{0}, number.imaginary)};
}

// A product of which both parts came out as NaN, as annex G of the C standard wants it: infinite where a factor is, or
// where something on the way was.
template <class T>
constexpr Complex<T> product_beside_nan(Complex<T> left, Complex<T> right, Complex<T> product) {
  const auto infinite = [](Complex<T> number) { return is_infinite(number.real) || is_infinite(number.imaginary); };
  const bool overflown = infinite(Complex<T>{left.real * right.real, left.imaginary * right.imaginary}) ||
                         infinite(Complex<T>{left.real * right.imaginary, left.imaginary * right.real});
  const bool left_infinite = infinite(left);
  const bool right_infinite = infinite(right);
  if (!left_infinite && !right_infinite && !overflown) {
    return product;
  }
  left = left_infinite ? direction_of(left) : without_nan(left);
  right = right_infinite ? direction_of(right) : without_nan(right);
  return {std::numeric_limits<T>::infinity() * (left.real * right.real - left.imaginary * right.imaginary),
          std::numeric_limits<T>::infinity() * (left.real * right.imaginary + left.imaginary * right.real)};
}

template <class T>
constexpr Complex<T> product_of(Complex<T> left, Complex<T> right) {
  const Complex<T> product{left.real * right.real - left.imaginary * right.imaginary,
                           left.real * right.imaginary + left.imaginary * right.real};
  return is_nan(product.real) && is_nan(product.imaginary) ? product_beside_nan(left, right, product) : product;
}

template <ReduceOp op, class T>
constexpr T combined(T left, T right) {
  using enum ReduceOp;
  if constexpr (op == sum && is_complex<T>) {
    return {left.real + right.real, left.imaginary + right.imaginary};
  } else if constexpr (op == prod && is_complex<T>) { // as C multiplies, infinities included
    return product_of(left, right);
  } else if constexpr (op == sum && std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(left) + static_cast<Wrapping<T>>(right));
  } else if constexpr (op == prod && std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(left) * static_cast<Wrapping<T>>(right));
  } else if constexpr ((op == sum || op == prod) && is_narrow_float<T>) {
    return T::rounded(combined<op, float>(left, right));
  } else if constexpr (op == sum) {
    return left + right;
  } else if constexpr (op == prod) {
    return left * right;
  } else if constexpr (op == max) { // the left operand where neither is larger, and beside a NaN, as in MPI libraries
    return right > left ? right : left;
  } else if constexpr (op == min) {
    return right < left ? right : left;
  } else if constexpr (op == land) {
    return static_cast<T>((left != 0) & (right != 0));
  } else if constexpr (op == lor) {
    return static_cast<T>((left != 0) | (right != 0));
  } else if constexpr (op == lxor) {
    return static_cast<T>((left != 0) != (right != 0));
  } else if constexpr (op == band) {
    return static_cast<T>(left & right);
  } else if constexpr (op == bor) {
    return static_cast<T>(left | right);
  } else if constexpr (op == bxor) {
    return static_cast<T>(left ^ right);
  } else if constexpr (op == maxloc) { // the right operand beside a NaN, as in MPI libraries
    return left.value == right.value ? at_smaller_location(left, right) : left.value > right.value ? left : right;
  } else {
    return left.value == right.value ? at_smaller_location(left, right) : left.value < right.value ? left : right;
  }
}

} // namespace stoker::engine
