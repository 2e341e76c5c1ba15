// SPDX-License-Identifier: BSD-3-Clause
// stoker: pointers to global memory in the C++ interface. Included by stoker_global.hpp.
#pragma once

#include "stoker_error.hpp"
#include "stoker_global.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <tuple>
#include <type_traits>

namespace stoker {

template <class T>
class GlobalPointer;

// The element that a global pointer points to. Reading it is a blocking get, assigning to it a blocking put.
template <class T>
class GlobalReference {
public:
  operator T() const { // NOLINT(google-explicit-constructor): it stands for a T
    T value;
    detail::check(stoker_get(global_, &value, address_, sizeof(T)));
    return value;
  }
  const GlobalReference& operator=(const T& value) const { // NOLINT(misc-unconventional-assign-operator): a proxy
    detail::check(stoker_put(global_, address_, &value, sizeof(T)));
    return *this;
  }
  const GlobalReference& operator=(const GlobalReference& other) const { // NOLINT(misc-unconventional-assign-operator)
    return *this = static_cast<T>(other);
  }
  GlobalReference(const GlobalReference&) = default;
  ~GlobalReference() = default;

private:
  friend class GlobalPointer<T>;
  GlobalReference(stoker_global global, stoker_gptr address) : global_(global), address_(address) {}
  stoker_global global_;
  stoker_gptr address_;
};

// A pointer into one unit's part of a segment. Trivially copyable, but meaningful in its process only; address() means
// the same on every unit.
template <class T>
class GlobalPointer {
  static_assert(std::is_trivially_copyable_v<T>, "elements of global memory are copied as bytes");

public:
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using reference = GlobalReference<T>;
  using pointer = void;
  using iterator_category = std::random_access_iterator_tag;

  GlobalPointer() = default;
  GlobalPointer(std::nullptr_t) {} // NOLINT(google-explicit-constructor): as pointers have it
  GlobalPointer(stoker_global global, stoker_gptr address) : global_(global), address_(address) {}

  // The unit, the whole address, and the global memory that it points into.
  [[nodiscard]] int unit() const { return address_.unit; }
  [[nodiscard]] stoker_gptr address() const { return address_; }
  [[nodiscard]] stoker_global global() const { return global_; }
  // The same offset in another unit's part.
  [[nodiscard]] GlobalPointer at_unit(int unit) const {
    GlobalPointer other = *this;
    other.address_.unit = unit;
    return other;
  }
  // Where this process can load and store `count` elements; nullptr when they are on another node.
  [[nodiscard]] T* local(std::size_t count = 1) const {
    return static_cast<T*>(detail::result_of<void*>(stoker_global_address, global_, address_, bytes_of(count)));
  }
  [[nodiscard]] explicit operator bool() const { return address_.unit != STOKER_GPTR_NULL_UNIT; }

  [[nodiscard]] reference operator*() const {
    check_range(1);
    return {global_, address_};
  }
  [[nodiscard]] reference operator[](difference_type i) const { return *(*this + i); }

  GlobalPointer& operator+=(difference_type n) {
    address_.offset += static_cast<std::uint64_t>(n) * sizeof(T); // modulo 2^64: also backwards
    check_range(0);
    return *this;
  }
  GlobalPointer& operator-=(difference_type n) { return *this += -n; }
  GlobalPointer& operator++() { return *this += 1; }
  GlobalPointer& operator--() { return *this += -1; }
  GlobalPointer operator++(int) {
    GlobalPointer before = *this;
    ++*this;
    return before;
  }
  GlobalPointer operator--(int) {
    GlobalPointer before = *this;
    --*this;
    return before;
  }
  friend GlobalPointer operator+(GlobalPointer p, difference_type n) { return p += n; }
  friend GlobalPointer operator+(difference_type n, GlobalPointer p) { return p += n; }
  friend GlobalPointer operator-(GlobalPointer p, difference_type n) { return p -= n; }
  // The distance in elements. Both pointers must point into the same unit's part of the same segment.
  friend difference_type operator-(const GlobalPointer& a, const GlobalPointer& b) {
    return static_cast<difference_type>(a.address_.offset - b.address_.offset) /
           static_cast<difference_type>(sizeof(T));
  }
  // Pointers to different parts are ordered by segment, then unit; null pointers are equal.
  friend std::strong_ordering operator<=>(const GlobalPointer& a, const GlobalPointer& b) {
    if (!a || !b) {
      return static_cast<bool>(a) <=> static_cast<bool>(b);
    }
    return std::tie(a.address_.segment, a.address_.unit, a.address_.offset) <=>
           std::tie(b.address_.segment, b.address_.unit, b.address_.offset);
  }
  friend bool operator==(const GlobalPointer& a, const GlobalPointer& b) { return (a <=> b) == 0; }

private:
  static std::size_t bytes_of(std::size_t count) {
    return count > std::numeric_limits<std::size_t>::max() / sizeof(T) ? std::numeric_limits<std::size_t>::max()
                                                                       : count * sizeof(T);
  }
  void check_range([[maybe_unused]] std::size_t elements) const {
#ifndef NDEBUG
    // A global address is checked wherever it is.
    (void)detail::result_of<void*>(stoker_global_address, global_, address_, elements * sizeof(T));
#endif
  }
  stoker_global global_ = STOKER_GLOBAL_NULL;
  stoker_gptr address_{STOKER_GPTR_NULL_UNIT, 0, 0};
};

} // namespace stoker
