// SPDX-License-Identifier: BSD-3-Clause
// stoker: puts, gets and signals in the C++ interface of global memory. Included by stoker_global.hpp.
#pragma once

#include "stoker_error.hpp"
#include "stoker_global.h"
#include "stoker_global_pointer.hpp"

#include <cstdint>
#include <span>
#include <type_traits>

namespace stoker {

// A nonblocking transfer, owned. Destroying one that is under way waits for it and ignores its error.
class Transfer {
public:
  Transfer() noexcept = default;
  explicit Transfer(stoker_transfer handle) noexcept : handle_(handle) {} // takes ownership

  // Whether the transfer is complete; and waiting until it is. An empty one is complete. Both throw the transfer's
  // error, once.
  [[nodiscard]] bool test() { return detail::result_of<int>(stoker_transfer_test, handle_.address()) != 0; }
  void wait() { detail::check(stoker_transfer_wait(handle_.address())); }

private:
  detail::Owned<stoker_transfer, stoker_transfer_wait> handle_;
};

// Blocking put of the span's elements: they are at the target on return.
template <class T>
inline void put(GlobalPointer<T> target, std::span<const std::type_identity_t<T>> source) {
  detail::check(stoker_put(target.global(), target.address(), source.data(), source.size_bytes()));
}
// Blocking get of as many elements as the span has.
template <class T>
inline void get(GlobalPointer<T> source, std::span<std::type_identity_t<T>> target) {
  detail::check(stoker_get(source.global(), target.data(), source.address(), target.size_bytes()));
}
// Begins a put. The span's elements belong to stoker until the transfer is complete.
template <class T>
[[nodiscard]] inline Transfer put_nb(GlobalPointer<T> target, std::span<const std::type_identity_t<T>> source) {
  return Transfer(detail::result_of<stoker_transfer>(stoker_put_nb, target.global(), target.address(), source.data(),
                                                     source.size_bytes()));
}
// Begins a put that sets `signal`, a word of the target's unit, to `value` once the data are there.
template <class T>
[[nodiscard]] inline Transfer put_signal_nb(GlobalPointer<T> target, std::span<const std::type_identity_t<T>> source,
                                            GlobalPointer<std::uint64_t> signal, std::uint64_t value) {
  return Transfer(detail::result_of<stoker_transfer>(stoker_put_signal_nb, target.global(), target.address(),
                                                     source.data(), source.size_bytes(), signal.address(), value));
}
// Waits until the word, on this unit's node, compares with `value` as `comparison` says: STOKER_EQ, STOKER_NE,
// STOKER_GT, STOKER_GE, STOKER_LT or STOKER_LE.
inline void wait_until(GlobalPointer<std::uint64_t> word, int comparison, std::uint64_t value) {
  detail::check(stoker_wait_until(word.global(), word.address(), comparison, value));
}
// Begins a get. The span's elements must not be touched until the transfer is complete.
template <class T>
[[nodiscard]] inline Transfer get_nb(GlobalPointer<T> source, std::span<std::type_identity_t<T>> target) {
  return Transfer(detail::result_of<stoker_transfer>(stoker_get_nb, source.global(), target.data(), source.address(),
                                                     target.size_bytes()));
}

} // namespace stoker
