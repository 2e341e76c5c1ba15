// SPDX-License-Identifier: BSD-3-Clause
// One loop for each operator and type, written so that the compiler makes vector instructions of it; compiled with -O3.
#include "engine/data/reduction_kernels.hpp"

#include <complex>
#include <type_traits>

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

struct Sum {
  template <class T>
  static constexpr bool takes = !is_pair<T>;

  template <class T>
  static T apply(T left, T right) {
    if constexpr (is_complex<T>) {
      return {left.real + right.real, left.imaginary + right.imaginary};
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(left) + static_cast<Wrapping<T>>(right));
    } else {
      return left + right;
    }
  }
};

struct Prod {
  template <class T>
  static constexpr bool takes = !is_pair<T>;

  template <class T>
  static T apply(T left, T right) {
    if constexpr (is_complex<T>) { // as C multiplies, infinities included
      const auto product = std::complex(left.real, left.imaginary) * std::complex(right.real, right.imaginary);
      return {product.real(), product.imag()};
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(left) * static_cast<Wrapping<T>>(right));
    } else {
      return left * right;
    }
  }
};

// The left operand where neither is larger, and beside a NaN, as in the MPI libraries.
struct Max {
  template <class T>
  static constexpr bool takes = std::is_arithmetic_v<T>;

  template <class T>
  static T apply(T left, T right) {
    return right > left ? right : left;
  }
};

struct Min {
  template <class T>
  static constexpr bool takes = std::is_arithmetic_v<T>;

  template <class T>
  static T apply(T left, T right) {
    return right < left ? right : left;
  }
};

// The part that the operators on integers share.
struct OnIntegers {
  template <class T>
  static constexpr bool takes = std::is_integral_v<T>;
};

struct LogicalAnd : OnIntegers {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>((left != 0) & (right != 0));
  }
};

struct LogicalOr : OnIntegers {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>((left != 0) | (right != 0));
  }
};

struct LogicalXor : OnIntegers {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>((left != 0) != (right != 0));
  }
};

struct BitAnd : OnIntegers {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>(left & right);
  }
};

struct BitOr : OnIntegers {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>(left | right);
  }
};

struct BitXor : OnIntegers {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>(left ^ right);
  }
};

// For equal values: the one with the smaller location.
template <class T>
T at_smaller_location(T left, T right) {
  return {right.value, right.location < left.location ? right.location : left.location};
}

// The right operand beside a NaN, as in the MPI libraries.
struct MaxLoc {
  template <class T>
  static constexpr bool takes = is_pair<T>;

  template <class T>
  static T apply(T left, T right) {
    return left.value == right.value ? at_smaller_location(left, right) : left.value > right.value ? left : right;
  }
};

struct MinLoc {
  template <class T>
  static constexpr bool takes = is_pair<T>;

  template <class T>
  static T apply(T left, T right) {
    return left.value == right.value ? at_smaller_location(left, right) : left.value < right.value ? left : right;
  }
};

using Kernel = void (*)(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t count);

template <class Op, class T>
void kernel(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t count) {
  auto* const to = reinterpret_cast<Place<T>*>(target);
  const auto* const a = reinterpret_cast<const Place<T>*>(left);
  const auto* const b = reinterpret_cast<const Place<T>*>(right);
  // The target may be an operand, but no element is read after another has been written. So the loop may be vectorised;
  // `restrict` would say that the target is never an operand.
#pragma GCC ivdep
  for (std::uint64_t i = 0; i < count; ++i) {
    store<T>(to[i], Op::apply(T{a[i].element}, T{b[i].element}));
  }
}

template <class Op, class T>
constexpr Kernel kernel_or_none() {
  if constexpr (Op::template takes<T>) {
    return kernel<Op, T>;
  } else {
    return nullptr;
  }
}

template <class T>
Kernel kernel_of(ReduceOp op) {
  switch (op) {
  case ReduceOp::sum:
    return kernel_or_none<Sum, T>();
  case ReduceOp::prod:
    return kernel_or_none<Prod, T>();
  case ReduceOp::max:
    return kernel_or_none<Max, T>();
  case ReduceOp::min:
    return kernel_or_none<Min, T>();
  case ReduceOp::land:
    return kernel_or_none<LogicalAnd, T>();
  case ReduceOp::band:
    return kernel_or_none<BitAnd, T>();
  case ReduceOp::lor:
    return kernel_or_none<LogicalOr, T>();
  case ReduceOp::bor:
    return kernel_or_none<BitOr, T>();
  case ReduceOp::lxor:
    return kernel_or_none<LogicalXor, T>();
  case ReduceOp::bxor:
    return kernel_or_none<BitXor, T>();
  case ReduceOp::maxloc:
    return kernel_or_none<MaxLoc, T>();
  case ReduceOp::minloc:
    return kernel_or_none<MinLoc, T>();
  case ReduceOp::none:
  case ReduceOp::user:
    break;
  }
  return nullptr;
}

struct Arithmetic {
  Kernel kernel = nullptr;
  std::uint64_t element_bytes = 0;
};

template <class T>
Arithmetic arithmetic_on(ReduceOp op) {
  static_assert(sizeof(Place<T>) == sizeof(T));
  return {kernel_of<T>(op), sizeof(T)};
}

Arithmetic arithmetic(OperationCode code) {
  switch (code.type) {
  case ReduceType::int8:
    return arithmetic_on<std::int8_t>(code.op);
  case ReduceType::uint8:
    return arithmetic_on<std::uint8_t>(code.op);
  case ReduceType::int16:
    return arithmetic_on<std::int16_t>(code.op);
  case ReduceType::uint16:
    return arithmetic_on<std::uint16_t>(code.op);
  case ReduceType::int32:
    return arithmetic_on<std::int32_t>(code.op);
  case ReduceType::uint32:
    return arithmetic_on<std::uint32_t>(code.op);
  case ReduceType::int64:
    return arithmetic_on<std::int64_t>(code.op);
  case ReduceType::uint64:
    return arithmetic_on<std::uint64_t>(code.op);
  case ReduceType::float32:
    return arithmetic_on<float>(code.op);
  case ReduceType::float64:
    return arithmetic_on<double>(code.op);
  case ReduceType::long_float:
    return arithmetic_on<long double>(code.op);
  case ReduceType::complex_float32:
    return arithmetic_on<Complex<float>>(code.op);
  case ReduceType::complex_float64:
    return arithmetic_on<Complex<double>>(code.op);
  case ReduceType::complex_long_float:
    return arithmetic_on<Complex<long double>>(code.op);
  case ReduceType::float32_int:
    return arithmetic_on<Pair<float, int>>(code.op);
  case ReduceType::float64_int:
    return arithmetic_on<Pair<double, int>>(code.op);
  case ReduceType::long_float_int:
    return arithmetic_on<Pair<long double, int>>(code.op);
  case ReduceType::long_int:
    return arithmetic_on<Pair<long, int>>(code.op);
  case ReduceType::short_int:
    return arithmetic_on<Pair<short, int>>(code.op);
  case ReduceType::int_int:
    return arithmetic_on<Pair<int, int>>(code.op);
  case ReduceType::float32_float32:
    return arithmetic_on<Pair<float, float>>(code.op);
  case ReduceType::float64_float64:
    return arithmetic_on<Pair<double, double>>(code.op);
  }
  return {};
}

} // namespace

std::uint64_t size_of(ReduceType type) { return arithmetic({ReduceOp::none, type}).element_bytes; }

bool combinable(OperationCode code) { return arithmetic(code).kernel != nullptr; }

void combine(OperationCode code, std::byte* target, const std::byte* left, const std::byte* right,
             std::uint64_t bytes) {
  const Arithmetic found = arithmetic(code);
  found.kernel(target, left, right, bytes / found.element_bytes);
}

} // namespace stoker::engine
