// SPDX-License-Identifier: BSD-3-Clause
#include "engine/global/element.hpp"

#include <algorithm>
#include <type_traits>

namespace stoker::engine {
namespace {

static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free &&
                  std::atomic_ref<std::uint32_t>::is_always_lock_free && std::atomic_ref<double>::is_always_lock_free &&
                  std::atomic_ref<float>::is_always_lock_free,
              "words shared between processes must be address-free");

template <class T>
T read(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

// Calls `work` with a value of the type.
template <class Work>
void with_type(ElementType type, Work&& work) {
  switch (type) {
  case ElementType::int32:
    return work(std::int32_t{});
  case ElementType::uint32:
    return work(std::uint32_t{});
  case ElementType::int64:
    return work(std::int64_t{});
  case ElementType::uint64:
    return work(std::uint64_t{});
  case ElementType::float32:
    return work(float{});
  case ElementType::float64:
    return work(double{});
  }
}

// Signed sums and products wrap around, as atomics of the language do.
template <class T>
T combined(AtomicOp op, T left, T right) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    const auto a = static_cast<U>(left);
    const auto b = static_cast<U>(right);
    switch (op) {
    case AtomicOp::sum:
      return static_cast<T>(a + b);
    case AtomicOp::prod:
      return static_cast<T>(a * b);
    case AtomicOp::band:
      return static_cast<T>(a & b);
    case AtomicOp::bor:
      return static_cast<T>(a | b);
    case AtomicOp::bxor:
      return static_cast<T>(a ^ b);
    default:
      break;
    }
  } else {
    if (op == AtomicOp::sum) {
      return left + right;
    }
    if (op == AtomicOp::prod) {
      return left * right;
    }
  }
  return op == AtomicOp::min ? std::min(left, right) : std::max(left, right);
}

// Sequentially consistent, as a lock built from these functions expects.
template <class T>
T applied(std::atomic_ref<T> target, AtomicOp op, T operand) {
  switch (op) {
  case AtomicOp::no_op:
    return target.load();
  case AtomicOp::replace:
    return target.exchange(operand);
  case AtomicOp::sum:
    if constexpr (std::is_integral_v<T>) {
      return target.fetch_add(operand);
    }
    break;
  default:
    break;
  }
  T before = target.load();
  while (!target.compare_exchange_weak(before, combined(op, before, operand))) {
  }
  return before;
}

template <class T>
std::atomic_ref<T> shared(std::byte* place) {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(place));
}

} // namespace

std::optional<ElementType> element_type_of(MPI_Datatype type) {
  constexpr ElementType of_long = sizeof(long) == 8 ? ElementType::int64 : ElementType::int32;
  constexpr ElementType of_unsigned_long = sizeof(long) == 8 ? ElementType::uint64 : ElementType::uint32;
  if (type == MPI_DATATYPE_NULL) { // some of those below may be, in a library without Fortran
    return std::nullopt;
  }
  // MPI's handles need not be constants, so this is no switch. What programs use most first.
  if (type == MPI_INT64_T || type == MPI_LONG_LONG || type == MPI_AINT || type == MPI_OFFSET || type == MPI_COUNT ||
      type == MPI_INTEGER8) {
    return ElementType::int64;
  }
  if (type == MPI_UINT64_T || type == MPI_UNSIGNED_LONG_LONG) {
    return ElementType::uint64;
  }
  if (type == MPI_DOUBLE || type == MPI_REAL8) {
    return ElementType::float64;
  }
  if (type == MPI_INT || type == MPI_INT32_T || type == MPI_INTEGER4) {
    return ElementType::int32;
  }
  if (type == MPI_UNSIGNED || type == MPI_UINT32_T) {
    return ElementType::uint32;
  }
  if (type == MPI_LONG) {
    return of_long;
  }
  if (type == MPI_UNSIGNED_LONG) {
    return of_unsigned_long;
  }
  if (type == MPI_FLOAT || type == MPI_REAL4) {
    return ElementType::float32;
  }
  // Fortran's own are as long as its compiler was told to make them.
  const bool is_real = type == MPI_REAL || type == MPI_DOUBLE_PRECISION;
  int size = 0;
  if ((is_real || type == MPI_INTEGER) && PMPI_Type_size(type, &size) == MPI_SUCCESS) {
    switch (size) {
    case 4:
      return is_real ? ElementType::float32 : ElementType::int32;
    case 8:
      return is_real ? ElementType::float64 : ElementType::int64;
    default:
      break;
    }
  }
  return std::nullopt;
}

std::optional<AtomicOp> atomic_op_of(MPI_Op op) {
  if (op == MPI_SUM) {
    return AtomicOp::sum;
  }
  if (op == MPI_NO_OP) {
    return AtomicOp::no_op;
  }
  if (op == MPI_REPLACE) {
    return AtomicOp::replace;
  }
  if (op == MPI_MIN) {
    return AtomicOp::min;
  }
  if (op == MPI_MAX) {
    return AtomicOp::max;
  }
  if (op == MPI_PROD) {
    return AtomicOp::prod;
  }
  if (op == MPI_BAND) {
    return AtomicOp::band;
  }
  if (op == MPI_BOR) {
    return AtomicOp::bor;
  }
  if (op == MPI_BXOR) {
    return AtomicOp::bxor;
  }
  return std::nullopt;
}

void fetch_and_op(std::byte* target, ElementType type, AtomicOp op, const std::byte* operand, std::byte* result) {
  with_type(type, [&]<class T>(T value) {
    if (op != AtomicOp::no_op) { // which has no operand
      value = read<T>(operand);
    }
    const T before = applied(shared<T>(target), op, value);
    std::memcpy(result, &before, sizeof before);
  });
}

void compare_and_swap(std::byte* target, ElementType type, const std::byte* expected, const std::byte* desired,
                      std::byte* result) {
  with_type(type, [&]<class T>(T) {
    T before = read<T>(expected);
    shared<T>(target).compare_exchange_strong(before, read<T>(desired));
    std::memcpy(result, &before, sizeof before);
  });
}

void accumulate(std::byte* target, ElementType type, AtomicOp op, const std::byte* operands, std::size_t count) {
  if (op == AtomicOp::no_op) {
    return;
  }
  with_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < count * sizeof(T); i += sizeof(T)) {
      applied(shared<T>(target + i), op, read<T>(operands + i));
    }
  });
}

} // namespace stoker::engine
