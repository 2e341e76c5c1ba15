// SPDX-License-Identifier: BSD-3-Clause
// One loop for each operator and type, written so that the compiler makes vector instructions of it; compiled with -O3.
#include "engine/data/reduction_kernels.hpp"

#include <array>
#include <complex>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stoker::engine {
namespace {

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

// An element in memory: packed, because it may lie at any address, and of the application's own type or of bytes.
template <class T>
struct [[gnu::packed, gnu::may_alias]] Place {
  T element;
};

template <class T>
void store(Place<T>& place, const T& element) {
  if constexpr (is_pair<T>) { // not the padding
    place.element.value = element.value;
    place.element.location = element.location;
  } else {
    place.element = element;
  }
}

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
    return std::is_arithmetic_v<T>;
  case ReduceOp::maxloc:
  case ReduceOp::minloc:
    return is_pair<T>;
  default:
    return std::is_integral_v<T>;
  }
}

// For equal values: the one with the smaller location.
template <class T>
T at_smaller_location(T left, T right) {
  return {right.value, right.location < left.location ? right.location : left.location};
}

template <ReduceOp op, class T>
T combined(T left, T right) {
  using enum ReduceOp;
  if constexpr (op == sum && is_complex<T>) {
    return {left.real + right.real, left.imaginary + right.imaginary};
  } else if constexpr (op == prod && is_complex<T>) { // as C multiplies, infinities included
    const auto product = std::complex(left.real, left.imaginary) * std::complex(right.real, right.imaginary);
    return {product.real(), product.imag()};
  } else if constexpr (op == sum && std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(left) + static_cast<Wrapping<T>>(right));
  } else if constexpr (op == prod && std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(left) * static_cast<Wrapping<T>>(right));
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

using Kernel = void (*)(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t count);

template <ReduceOp op, class T>
void kernel(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t count) {
  auto* const to = reinterpret_cast<Place<T>*>(target);
  const auto* const a = reinterpret_cast<const Place<T>*>(left);
  const auto* const b = reinterpret_cast<const Place<T>*>(right);
  // The target may be an operand, but no element is read after another has been written. So the loop may be vectorised;
  // `restrict` would say that the target is never an operand.
#pragma GCC ivdep
  for (std::uint64_t i = 0; i < count; ++i) {
    store<T>(to[i], combined<op>(T{a[i].element}, T{b[i].element}));
  }
}

template <ReduceOp op, class T>
constexpr Kernel kernel_or_none() {
  if constexpr (takes<op, T>()) {
    return kernel<op, T>;
  } else {
    return nullptr;
  }
}

struct Arithmetic {
  std::array<Kernel, static_cast<std::size_t>(ReduceOp::user) + 1> kernels{}; // by operator
  std::uint64_t element_bytes = 0;
};

template <class T, std::size_t... op>
constexpr Arithmetic arithmetic_on(std::index_sequence<op...> /*operators*/) {
  static_assert(sizeof(Place<T>) == sizeof(T));
  return {{kernel_or_none<static_cast<ReduceOp>(op), T>()...}, sizeof(T)};
}

template <class... T>
constexpr std::array<Arithmetic, sizeof...(T)> arithmetics_on() {
  return {arithmetic_on<T>(std::make_index_sequence<std::tuple_size_v<decltype(Arithmetic::kernels)>>())...};
}

// By type, in the order of the enumeration.
constexpr auto arithmetics =
    arithmetics_on<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t,
                   std::uint64_t, float, double, long double, Complex<float>, Complex<double>, Complex<long double>,
                   Pair<float, int>, Pair<double, int>, Pair<long double, int>, Pair<long, int>, Pair<short, int>,
                   Pair<int, int>, Pair<float, float>, Pair<double, double>>();
static_assert(arithmetics.size() == static_cast<std::size_t>(ReduceType::float64_float64) + 1);

const Arithmetic& arithmetic_on(ReduceType type) { return arithmetics[static_cast<std::size_t>(type)]; }

Kernel kernel_of(OperationCode code) { return arithmetic_on(code.type).kernels[static_cast<std::size_t>(code.op)]; }

} // namespace

std::uint64_t size_of(ReduceType type) { return arithmetic_on(type).element_bytes; }

bool combinable(OperationCode code) { return kernel_of(code) != nullptr; }

void combine(OperationCode code, std::byte* target, const std::byte* left, const std::byte* right,
             std::uint64_t bytes) {
  kernel_of(code)(target, left, right, bytes / size_of(code.type));
}

} // namespace stoker::engine
