// SPDX-License-Identifier: BSD-3-Clause
// stoker: iterators over distributed arrays, and copies and fills of ranges, in the C++ interface of global memory.
// Included by stoker_global.hpp.
#pragma once

#include "stoker_error.hpp"
#include "stoker_global_pointer.hpp"
#include "stoker_global_transfers.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace stoker {

template <class T>
class GlobalArray;

// A place in a whole array: arithmetic leads from one unit's block into the next. Reading an element is a blocking get,
// assigning to one a blocking put. Valid as long as the array, and until that is moved. Two iterators that are compared
// or subtracted must be of one array.
template <class T>
class GlobalIterator {
public:
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using reference = GlobalReference<T>;
  using pointer = void;
  using iterator_category = std::random_access_iterator_tag;

  GlobalIterator() = default;
  GlobalIterator(const GlobalArray<T>& array, std::size_t index) : array_(&array), index_(index) {}

  [[nodiscard]] const GlobalArray<T>& array() const { return *array_; }
  // The index in the whole array, and a pointer to the element there.
  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] GlobalPointer<T> global_pointer() const { return array_->pointer(index_); }
  // How many elements from here on lie one behind the other on one unit.
  [[nodiscard]] std::size_t contiguous() const {
    const std::size_t block = array_->block_size();
    return index_ >= array_->size() ? 0 : std::min(block - (index_ % block), array_->size() - index_);
  }

  [[nodiscard]] reference operator*() const { return (*array_)[index_]; }
  [[nodiscard]] reference operator[](difference_type i) const { return *(*this + i); }

  GlobalIterator& operator+=(difference_type n) {
    index_ += static_cast<std::size_t>(n); // modulo 2^64: also backwards
    return *this;
  }
  GlobalIterator& operator-=(difference_type n) { return *this += -n; }
  GlobalIterator& operator++() { return *this += 1; }
  GlobalIterator& operator--() { return *this += -1; }
  GlobalIterator operator++(int) {
    GlobalIterator before = *this;
    ++*this;
    return before;
  }
  GlobalIterator operator--(int) {
    GlobalIterator before = *this;
    --*this;
    return before;
  }
  friend GlobalIterator operator+(GlobalIterator i, difference_type n) { return i += n; }
  friend GlobalIterator operator+(difference_type n, GlobalIterator i) { return i += n; }
  friend GlobalIterator operator-(GlobalIterator i, difference_type n) { return i -= n; }
  friend difference_type operator-(const GlobalIterator& a, const GlobalIterator& b) {
    return static_cast<difference_type>(a.index_ - b.index_);
  }
  friend std::strong_ordering operator<=>(const GlobalIterator& a, const GlobalIterator& b) {
    return a.index_ <=> b.index_;
  }
  friend bool operator==(const GlobalIterator& a, const GlobalIterator& b) { return a.index_ == b.index_; }

private:
  const GlobalArray<T>* array_ = nullptr;
  std::size_t index_ = 0;
};

namespace detail {
// Calls `work(pointer, count)` for every run of [first, last) that lies on one unit, if the range lies in the array.
template <class T, class Work>
inline void for_each_run(GlobalIterator<T> first, GlobalIterator<T> last, Work&& work) {
  if (last.index() > first.array().size() || first > last) {
    throw Error(STOKER_ERR_ARGUMENT, "the range is from index " + std::to_string(first.index()) + " to " +
                                         std::to_string(last.index()) + "; expected one within the array's 0 to " +
                                         std::to_string(first.array().size()));
  }
  while (first < last) {
    const std::size_t count = std::min(first.contiguous(), static_cast<std::size_t>(last - first));
    work(first.global_pointer(), count);
    first += static_cast<std::ptrdiff_t>(count);
  }
}
inline void wait_all(std::vector<Transfer>& transfers) {
  for (Transfer& transfer : transfers) {
    transfer.wait();
  }
}
} // namespace detail

// Copies ordinary memory into an array, blocking: a put for every unit whose block the range meets, all under way at
// the same time. Returns the end of what was written.
template <std::contiguous_iterator Source, class T>
inline GlobalIterator<T> copy(Source first, Source last, GlobalIterator<T> target) {
  static_assert(std::is_same_v<std::iter_value_t<Source>, T>, "elements are copied as bytes");
  std::span<const T> left(first, last);
  const GlobalIterator<T> end = target + static_cast<std::ptrdiff_t>(left.size());
  std::vector<Transfer> transfers;
  detail::for_each_run(target, end, [&](GlobalPointer<T> place, std::size_t count) {
    transfers.push_back(put_nb(place, left.first(count)));
    left = left.subspan(count);
  });
  detail::wait_all(transfers);
  return end;
}
// Copies a part of an array into ordinary memory, likewise.
template <class T, std::contiguous_iterator Target>
inline Target copy(GlobalIterator<T> first, GlobalIterator<T> last, Target target) {
  static_assert(std::is_same_v<std::iter_value_t<Target>, T>, "elements are copied as bytes");
  std::vector<Transfer> transfers;
  detail::for_each_run(first, last, [&](GlobalPointer<T> place, std::size_t count) {
    transfers.push_back(get_nb(place, std::span<T>(target, count)));
    target += static_cast<std::ptrdiff_t>(count);
  });
  detail::wait_all(transfers);
  return target;
}
// Sets every element of the range, blocking: by stores on this node, by puts elsewhere.
template <class T>
inline void fill(GlobalIterator<T> first, GlobalIterator<T> last, const std::type_identity_t<T>& value) {
  constexpr std::size_t elements_at_a_time = std::max<std::size_t>(1, (std::size_t{64} << 10U) / sizeof(T));
  std::vector<T> values; // what is put; outlives the transfers, which wait where they end
  std::vector<Transfer> transfers;
  detail::for_each_run(first, last, [&](GlobalPointer<T> place, std::size_t count) {
    if (T* const here = place.local(count)) {
      std::fill_n(here, count, value);
      return;
    }
    if (values.empty()) {
      values.assign(std::min(static_cast<std::size_t>(last - first), elements_at_a_time), value);
    }
    for (std::size_t done = 0; done < count;) {
      const std::size_t some = std::min(count - done, values.size());
      transfers.push_back(put_nb(place + static_cast<std::ptrdiff_t>(done), std::span<const T>(values).first(some)));
      done += some;
    }
  });
  detail::wait_all(transfers);
}

} // namespace stoker
