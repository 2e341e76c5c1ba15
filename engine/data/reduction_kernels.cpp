// SPDX-License-Identifier: BSD-3-Clause
// One loop for each operator and type, written so that the compiler makes vector instructions of it; compiled with -O3.
#include "engine/data/reduction_kernels.hpp"

#include "engine/data/element_operations.hpp"

#include <array>
#include <utility>

namespace stoker::engine {
namespace {

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

using Kernel = void (*)(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t count);

template <ReduceOp op, class T>
void kernel(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t count) {
  auto* const to = reinterpret_cast<Place<T>*>(target);
  const auto* const a = reinterpret_cast<const Place<T>*>(left);
  const auto* const b = reinterpret_cast<const Place<T>*>(right);
  // The target may be an operand, but no element is read after another has been written. So the loop may be vectorised;
  // `restrict` would say that the target is never an operand.
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
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
  std::array<Kernel, reduce_ops> kernels{}; // by operator
  std::uint64_t element_bytes = 0;
};

template <class T, std::size_t... op>
constexpr Arithmetic arithmetic_on(std::index_sequence<op...> /*operators*/) {
  static_assert(sizeof(Place<T>) == sizeof(T));
  return {{kernel_or_none<static_cast<ReduceOp>(op), T>()...}, sizeof(T)};
}

template <class... T>
constexpr std::array<Arithmetic, sizeof...(T)> arithmetics_on(TypeList<T...> /*types*/) {
  return {arithmetic_on<T>(std::make_index_sequence<reduce_ops>())...};
}

constexpr auto arithmetics = arithmetics_on(ReducedTypes()); // by type
static_assert(arithmetics.size() == static_cast<std::size_t>(ReduceType::bfloat16) + 1);

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
