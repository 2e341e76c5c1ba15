// SPDX-License-Identifier: BSD-3-Clause
// stoker: atomics in the C++ interface of global memory. Included by stoker_global.hpp.
#pragma once

#include "stoker_error.hpp"
#include "stoker_global.h"
#include "stoker_global_pointer.hpp"
#include "stoker_global_transfers.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace stoker {

namespace detail {
// The datatype for atomics: by size, so that all integer types of 4 and 8 bytes have one.
template <class T>
inline MPI_Datatype atomic_type_of() {
  static_assert((std::is_integral_v<T> || std::is_floating_point_v<T>)&&(sizeof(T) == 4 || sizeof(T) == 8),
                "atomics are for integer and floating-point types of 4 or 8 bytes");
  if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? MPI_FLOAT : MPI_DOUBLE;
  } else if constexpr (std::is_signed_v<T>) {
    return sizeof(T) == 4 ? MPI_INT32_T : MPI_INT64_T;
  } else {
    return sizeof(T) == 4 ? MPI_UINT32_T : MPI_UINT64_T;
  }
}
} // namespace detail

// Atomics on one element; blocking. They return what was there before. This one stores `element op operand`.
template <class T>
inline T fetch_and_op(GlobalPointer<T> target, MPI_Op op, std::type_identity_t<T> operand) {
  return detail::result_of<T>(stoker_fetch_and_op, target.global(), target.address(), detail::atomic_type_of<T>(), op,
                              &operand);
}
// Adds `amount`.
template <class T>
inline T fetch_add(GlobalPointer<T> target, std::type_identity_t<T> amount) {
  return fetch_and_op(target, MPI_SUM, amount);
}
// Stores `value`.
template <class T>
inline T exchange(GlobalPointer<T> target, std::type_identity_t<T> value) {
  return fetch_and_op(target, MPI_REPLACE, value);
}
// Stores nothing.
template <class T>
inline T atomic_load(GlobalPointer<T> source) {
  return fetch_and_op(source, MPI_NO_OP, T{});
}
// As compare_exchange_strong of std::atomic: returns true if *target was `expected` and is now `desired`; else sets
// `expected` to what was there.
template <class T>
inline bool compare_exchange(GlobalPointer<T> target, T& expected, std::type_identity_t<T> desired) {
  static_assert(std::is_integral_v<T>, "compare_exchange is for integers");
  const T found = detail::result_of<T>(stoker_compare_and_swap, target.global(), target.address(),
                                       detail::atomic_type_of<T>(), &expected, &desired);
  const bool stored = found == expected;
  expected = found;
  return stored;
}
// Combines consecutive elements with the operands, each atomically, without a result.
template <class T>
inline void accumulate(GlobalPointer<T> target, MPI_Op op, std::span<const std::type_identity_t<T>> operands) {
  detail::check(stoker_accumulate(target.global(), target.address(), detail::atomic_type_of<T>(), op, operands.data(),
                                  operands.size()));
}

// Nonblocking: see stoker_fetch_and_op_nb. `result` is set when the transfer is complete, and must be left alone before.
template <class T>
[[nodiscard]] inline Transfer fetch_and_op_nb(GlobalPointer<T> target, MPI_Op op, std::type_identity_t<T> operand,
                                              T& result) {
  return Transfer(detail::result_of<stoker_transfer>(stoker_fetch_and_op_nb, target.global(), target.address(),
                                                     detail::atomic_type_of<T>(), op, &operand, &result));
}
template <class T>
[[nodiscard]] inline Transfer fetch_add_nb(GlobalPointer<T> target, std::type_identity_t<T> amount, T& result) {
  return fetch_and_op_nb(target, MPI_SUM, amount, result);
}
// Stores `desired` if the element is `expected`.
template <class T>
[[nodiscard]] inline Transfer compare_and_swap_nb(GlobalPointer<T> target, std::type_identity_t<T> expected,
                                                  std::type_identity_t<T> desired, T& result) {
  static_assert(std::is_integral_v<T>, "compare_and_swap_nb is for integers");
  return Transfer(detail::result_of<stoker_transfer>(stoker_compare_and_swap_nb, target.global(), target.address(),
                                                     detail::atomic_type_of<T>(), &expected, &desired, &result));
}
// The operands belong to stoker until the transfer is complete.
template <class T>
[[nodiscard]] inline Transfer accumulate_nb(GlobalPointer<T> target, MPI_Op op,
                                            std::span<const std::type_identity_t<T>> operands) {
  return Transfer(detail::result_of<stoker_transfer>(stoker_accumulate_nb, target.global(), target.address(),
                                                     detail::atomic_type_of<T>(), op, operands.data(),
                                                     operands.size()));
}

namespace detail {
// The targets of many updates, which must be as many as the operands, in one global memory.
template <class T>
inline std::vector<stoker_gptr> addresses_of(std::span<const GlobalPointer<T>> targets, std::size_t operands) {
  if (targets.size() != operands) {
    throw Error(STOKER_ERR_ARGUMENT, "operands has " + std::to_string(operands) +
                                         " elements; expected as many as there are targets, " +
                                         std::to_string(targets.size()));
  }
  std::vector<stoker_gptr> addresses;
  addresses.reserve(targets.size());
  for (const GlobalPointer<T>& target : targets) {
    if (target.global() != targets.front().global()) {
      throw Error(STOKER_ERR_ARGUMENT, "targets[" + std::to_string(addresses.size()) +
                                           "] is in another global memory than targets[0]; expected the same");
    }
    addresses.push_back(target.address());
  }
  return addresses;
}
} // namespace detail

// Many updates in one call: targets[i] with operands[i]; blocking.
template <class T>
inline void accumulate_many(std::span<const GlobalPointer<T>> targets, MPI_Op op,
                            std::span<const std::type_identity_t<T>> operands) {
  const auto addresses = detail::addresses_of(targets, operands.size());
  if (!targets.empty()) {
    detail::check(stoker_accumulate_many(targets.front().global(), addresses.data(), detail::atomic_type_of<T>(), op,
                                         operands.data(), addresses.size()));
  }
}
// The same, which also returns what the elements were before.
template <class T>
[[nodiscard]] inline std::vector<T> fetch_and_op_many(std::span<const GlobalPointer<T>> targets, MPI_Op op,
                                                      std::span<const std::type_identity_t<T>> operands) {
  const auto addresses = detail::addresses_of(targets, operands.size());
  std::vector<T> results(targets.size());
  if (!targets.empty()) {
    detail::check(stoker_fetch_and_op_many(targets.front().global(), addresses.data(), detail::atomic_type_of<T>(), op,
                                           operands.data(), results.data(), addresses.size()));
  }
  return results;
}

} // namespace stoker
