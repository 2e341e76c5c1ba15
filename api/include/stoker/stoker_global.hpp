// SPDX-License-Identifier: BSD-3-Clause
// stoker's global memory: the C++ interface. Move-only handles and typed pointers over stoker_global.h. Each function
// calls the C function of the same name, whose comment holds for semantics, ownership, threads and the memory model.
// Errors are thrown as stoker::Error. A moved-from handle is empty: it may be destroyed or assigned; every other use
// throws.
//
// Elements are trivially copyable. A pointer, reference or array does not own the GlobalMemory, which has to outlive
// it. Without NDEBUG, pointer arithmetic and dereferencing that leave the unit's part of the segment throw.
#pragma once

#include "stoker.hpp"
#include "stoker_global.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace stoker {

template <class T>
class GlobalPointer;

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
    void* address = nullptr;
    detail::check(stoker_global_address(global_, address_, bytes_of(count), &address));
    return static_cast<T*>(address);
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
    if (const auto order = a.address_.segment <=> b.address_.segment; order != 0) {
      return order;
    }
    if (const auto order = a.address_.unit <=> b.address_.unit; order != 0) {
      return order;
    }
    return a.address_.offset <=> b.address_.offset;
  }
  friend bool operator==(const GlobalPointer& a, const GlobalPointer& b) { return (a <=> b) == 0; }

private:
  static std::size_t bytes_of(std::size_t count) {
    return count > std::numeric_limits<std::size_t>::max() / sizeof(T) ? std::numeric_limits<std::size_t>::max()
                                                                       : count * sizeof(T);
  }
  void check_range([[maybe_unused]] std::size_t elements) const {
#ifndef NDEBUG
    void* address = nullptr; // a global address is checked wherever it is
    detail::check(stoker_global_address(global_, address_, elements * sizeof(T), &address));
#endif
  }
  stoker_global global_ = STOKER_GLOBAL_NULL;
  stoker_gptr address_{STOKER_GPTR_NULL_UNIT, 0, 0};
};

// A nonblocking transfer, owned. Destroying one that is under way waits for it and ignores its error.
class Transfer {
public:
  Transfer() noexcept = default;
  explicit Transfer(stoker_transfer handle) noexcept : handle_(handle) {} // takes ownership
  Transfer(Transfer&& other) noexcept : handle_(std::exchange(other.handle_, STOKER_TRANSFER_NULL)) {}
  Transfer& operator=(Transfer&& other) noexcept {
    if (this != &other) {
      (void)stoker_transfer_wait(&handle_);
      handle_ = std::exchange(other.handle_, STOKER_TRANSFER_NULL);
    }
    return *this;
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() { (void)stoker_transfer_wait(&handle_); }

  // Whether the transfer is complete; and waiting until it is. An empty one is complete. Both throw the transfer's
  // error, once.
  [[nodiscard]] bool test() {
    int flag = 0;
    detail::check(stoker_transfer_test(&handle_, &flag));
    return flag != 0;
  }
  void wait() { detail::check(stoker_transfer_wait(&handle_)); }

private:
  stoker_transfer handle_ = STOKER_TRANSFER_NULL;
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
  stoker_transfer handle = STOKER_TRANSFER_NULL;
  detail::check(stoker_put_nb(target.global(), target.address(), source.data(), source.size_bytes(), &handle));
  return Transfer(handle);
}
// Begins a put that sets `signal`, a word of the target's unit, to `value` once the data are there.
template <class T>
[[nodiscard]] inline Transfer put_signal_nb(GlobalPointer<T> target, std::span<const std::type_identity_t<T>> source,
                                            GlobalPointer<std::uint64_t> signal, std::uint64_t value) {
  stoker_transfer handle = STOKER_TRANSFER_NULL;
  detail::check(stoker_put_signal_nb(target.global(), target.address(), source.data(), source.size_bytes(),
                                     signal.address(), value, &handle));
  return Transfer(handle);
}
// Waits until the word, on this unit's node, compares with `value` as `comparison` says: STOKER_EQ, STOKER_NE,
// STOKER_GT, STOKER_GE, STOKER_LT or STOKER_LE.
inline void wait_until(GlobalPointer<std::uint64_t> word, int comparison, std::uint64_t value) {
  detail::check(stoker_wait_until(word.global(), word.address(), comparison, value));
}
// Begins a get. The span's elements must not be touched until the transfer is complete.
template <class T>
[[nodiscard]] inline Transfer get_nb(GlobalPointer<T> source, std::span<std::type_identity_t<T>> target) {
  stoker_transfer handle = STOKER_TRANSFER_NULL;
  detail::check(stoker_get_nb(source.global(), target.data(), source.address(), target.size_bytes(), &handle));
  return Transfer(handle);
}

// Atomics on one element; blocking. They return what was there before. This one stores `element op operand`.
template <class T>
inline T fetch_and_op(GlobalPointer<T> target, MPI_Op op, std::type_identity_t<T> operand) {
  T result{};
  detail::check(
      stoker_fetch_and_op(target.global(), target.address(), detail::atomic_type_of<T>(), op, &operand, &result));
  return result;
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
  T found{};
  detail::check(stoker_compare_and_swap(target.global(), target.address(), detail::atomic_type_of<T>(), &expected,
                                        &desired, &found));
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

// A global memory over an engine's units, owned. Construction and destruction are collective over the engine's
// communicator; destruction ignores errors.
class GlobalMemory {
public:
  // `heap_bytes`: each unit's room for allocate(); equal on all units.
  GlobalMemory(const Engine& engine, std::size_t heap_bytes) {
    detail::check(stoker_global_create(engine.handle(), heap_bytes, &handle_));
  }
  GlobalMemory(GlobalMemory&& other) noexcept : handle_(std::exchange(other.handle_, STOKER_GLOBAL_NULL)) {}
  GlobalMemory& operator=(GlobalMemory&& other) noexcept {
    if (this != &other) {
      release();
      handle_ = std::exchange(other.handle_, STOKER_GLOBAL_NULL);
    }
    return *this;
  }
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;
  ~GlobalMemory() { release(); }

  // Allocates `count` elements on the calling unit only, cleared to zero. They live until deallocate, or as long as
  // this. Local.
  template <class T>
  [[nodiscard]] GlobalPointer<T> allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      throw Error(STOKER_ERR_ARGUMENT, "count is " + std::to_string(count) + "; expected as many as fit into memory");
    }
    stoker_gptr address{};
    detail::check(stoker_global_allocate(handle_, count * sizeof(T), &address));
    return {handle_, address};
  }
  // Frees memory from allocate, on the unit that allocated it. Local.
  template <class T>
  void deallocate(GlobalPointer<T> pointer) {
    detail::check(stoker_global_deallocate(handle_, pointer.address()));
  }
  // A typed pointer from an address, for example one that another unit has sent. Nothing is checked here.
  template <class T>
  [[nodiscard]] GlobalPointer<T> pointer(stoker_gptr address) const {
    return {handle_, address};
  }

  // Complete the calling unit's transfers from and to one unit, or all units.
  void flush(int unit) { detail::check(stoker_flush(handle_, unit)); }
  void flush_all() { detail::check(stoker_flush_all(handle_)); }
  // What the calling unit has transferred so far.
  [[nodiscard]] stoker_global_statistics statistics() const {
    stoker_global_statistics s{};
    s.size = sizeof s;
    detail::check(stoker_global_get_statistics(handle_, &s));
    return s;
  }
  // The C handle, which this keeps.
  [[nodiscard]] stoker_global handle() const noexcept { return handle_; }

private:
  void release() noexcept {
    if (handle_ != STOKER_GLOBAL_NULL) {
      (void)stoker_global_free(&handle_);
      handle_ = STOKER_GLOBAL_NULL;
    }
  }
  stoker_global handle_ = STOKER_GLOBAL_NULL;
};

// A team: units that allocate together. Owned. Construction and destruction are collective over the communicator, which
// may be freed after construction.
class Team {
public:
  Team(const GlobalMemory& global, MPI_Comm comm) : global_(global.handle()) {
    detail::check(stoker_team_create(global_, comm, &handle_));
  }
  Team(Team&& other) noexcept : global_(other.global_), handle_(std::exchange(other.handle_, STOKER_TEAM_NULL)) {}
  Team& operator=(Team&& other) noexcept {
    if (this != &other) {
      release();
      global_ = other.global_;
      handle_ = std::exchange(other.handle_, STOKER_TEAM_NULL);
    }
    return *this;
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() { release(); }

  // The number of units; the caller's number among them; and the unit with a given number. Local.
  [[nodiscard]] int size() const {
    int size = 0;
    detail::check(stoker_team_size(handle_, &size));
    return size;
  }
  [[nodiscard]] int rank() const {
    int rank = 0;
    detail::check(stoker_team_rank(handle_, &rank));
    return rank;
  }
  [[nodiscard]] int unit(int rank) const {
    int unit = 0;
    detail::check(stoker_team_unit(handle_, rank, &unit));
    return unit;
  }
  [[nodiscard]] stoker_global global() const noexcept { return global_; }
  [[nodiscard]] stoker_team handle() const noexcept { return handle_; }

private:
  void release() noexcept {
    if (handle_ != STOKER_TEAM_NULL) {
      (void)stoker_team_free(&handle_);
      handle_ = STOKER_TEAM_NULL;
    }
  }
  stoker_global global_;
  stoker_team handle_ = STOKER_TEAM_NULL;
};

// An array of `size` elements over the ranks of a team, in equal blocks (the last ones shorter or empty), cleared to
// zero. Construction and destruction are collective over the team, which must outlive the array.
template <class T>
class GlobalArray {
public:
  GlobalArray(const Team& team, std::size_t size) : team_(team.handle()), global_(team.global()), size_(size) {
    for (int rank = 0; rank < team.size(); ++rank) {
      units_.push_back(team.unit(rank));
    }
    block_ = size / units_.size() + (size % units_.size() != 0 ? 1 : 0);
    if (block_ > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      throw Error(STOKER_ERR_ARGUMENT, "size is " + std::to_string(size) + "; expected as many as fit into memory");
    }
    const int rank = team.rank();
    detail::check(stoker_team_allocate(team_, block_ * sizeof(T), &begin_));
    mine_ = std::span<T>(pointer(rank, 0).local(block_), size_of(rank));
  }
  GlobalArray(GlobalArray&& other) noexcept
      : team_(std::exchange(other.team_, STOKER_TEAM_NULL)), global_(other.global_), units_(std::move(other.units_)),
        size_(std::exchange(other.size_, 0)), block_(other.block_), begin_(other.begin_),
        mine_(std::exchange(other.mine_, {})) {}
  GlobalArray& operator=(GlobalArray&& other) noexcept {
    if (this != &other) {
      release();
      team_ = std::exchange(other.team_, STOKER_TEAM_NULL);
      global_ = other.global_;
      units_ = std::move(other.units_);
      size_ = std::exchange(other.size_, 0);
      block_ = other.block_;
      begin_ = other.begin_;
      mine_ = std::exchange(other.mine_, {});
    }
    return *this;
  }
  GlobalArray(const GlobalArray&) = delete;
  GlobalArray& operator=(const GlobalArray&) = delete;
  ~GlobalArray() { release(); }

  // Elements of the whole array, and of a full block.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t block_size() const noexcept { return block_; }
  // The number of elements in the block of a rank of the team, and the index of its first element in the whole array.
  [[nodiscard]] std::size_t size_of(int rank) const { return std::min(block_, size_ - first_of(rank)); }
  [[nodiscard]] std::size_t first_of(int rank) const {
    return std::min(size_, static_cast<std::size_t>(rank) * block_);
  }
  // The caller's own block, as ordinary memory.
  [[nodiscard]] std::span<T> local() const noexcept { return mine_; }
  // A pointer to element `index` of the block of a rank of the team.
  [[nodiscard]] GlobalPointer<T> pointer(int rank, std::size_t index) const {
    if (rank < 0 || static_cast<std::size_t>(rank) >= units_.size() || index > block_) {
      throw Error(STOKER_ERR_ARGUMENT, "rank is " + std::to_string(rank) + " and index " + std::to_string(index) +
                                           "; expected a rank of the team and at most " + std::to_string(block_));
    }
    return {global_,
            {.unit = units_[static_cast<std::size_t>(rank)], .segment = begin_.segment, .offset = index * sizeof(T)}};
  }
  // A pointer to element `index` of the whole array.
  [[nodiscard]] GlobalPointer<T> pointer(std::size_t index) const {
    if (index >= size_) {
      throw Error(STOKER_ERR_ARGUMENT,
                  "index is " + std::to_string(index) + "; expected less than " + std::to_string(size_));
    }
    return pointer(static_cast<int>(index / block_), index % block_);
  }
  // Element `index` of the whole array: reading it is a get, assigning to it a put.
  [[nodiscard]] GlobalReference<T> operator[](std::size_t index) const { return *pointer(index); }

private:
  void release() noexcept {
    if (team_ != STOKER_TEAM_NULL) {
      (void)stoker_team_deallocate(team_, begin_);
      team_ = STOKER_TEAM_NULL;
    }
  }
  stoker_team team_;
  stoker_global global_;
  std::vector<int> units_; // by rank of the team
  std::size_t size_;
  std::size_t block_ = 0;
  stoker_gptr begin_{STOKER_GPTR_NULL_UNIT, 0, 0};
  std::span<T> mine_;
};

} // namespace stoker
