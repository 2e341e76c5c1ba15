// SPDX-License-Identifier: BSD-3-Clause
// Handles of MPI, which are ints or pointers, as keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace stoker::pmpi {

// Its upper bits are the best.
template <class Handle>
[[nodiscard]] std::uint64_t hash(Handle handle) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle) * golden;
  } else {
    return static_cast<std::uint64_t>(handle) * golden;
  }
}

// Values by handle, with open addressing. It grows as needed and never shrinks. For one thread at a time.
template <class Handle, class Value>
class HandleTable {
public:
  // Whether the handle is new; else its value is replaced.
  bool insert(Handle handle, const Value& value) {
    if (2 * (size_ + 1) > buckets_.size()) {
      grow();
    }
    Bucket& bucket = buckets_[place_of(handle)];
    const bool is_new = !bucket;
    bucket = {handle, value};
    size_ += is_new ? 1 : 0;
    return is_new;
  }

  [[nodiscard]] const Value* find(Handle handle) const {
    if (size_ == 0) {
      return nullptr;
    }
    const Bucket& bucket = buckets_[place_of(handle)];
    return bucket ? &bucket->second : nullptr;
  }

  // Returns the value that the handle had; nothing if there is none.
  std::optional<Value> take(Handle handle) {
    if (size_ == 0) {
      return std::nullopt;
    }
    std::size_t hole = place_of(handle);
    if (!buckets_[hole]) {
      return std::nullopt;
    }
    const Value value = buckets_[hole]->second;
    buckets_[hole].reset();
    --size_;
    // Those behind it that the hole would cut off move up.
    for (std::size_t i = next(hole); buckets_[i]; i = next(i)) {
      const std::size_t from_home = (i - home_of(buckets_[i]->first)) & (buckets_.size() - 1);
      const std::size_t from_hole = (i - hole) & (buckets_.size() - 1);
      if (from_home >= from_hole) {
        buckets_[hole] = buckets_[i];
        buckets_[i].reset();
        hole = i;
      }
    }
    return value;
  }

  // Takes out those for which drop(value) is true. Returns how many.
  template <class Drop>
  std::size_t take_if(Drop drop) {
    std::vector<Handle> dropped;
    for (const Bucket& bucket : buckets_) {
      if (bucket && drop(bucket->second)) {
        dropped.push_back(bucket->first);
      }
    }
    for (const Handle handle : dropped) {
      take(handle);
    }
    return dropped.size();
  }

  [[nodiscard]] std::size_t size() const { return size_; }

private:
  using Bucket = std::optional<std::pair<Handle, Value>>;

  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & (buckets_.size() - 1); }
  [[nodiscard]] std::size_t home_of(Handle handle) const { return hash(handle) >> shift_; }
  // Where the handle is, or would be. There are empty buckets.
  [[nodiscard]] std::size_t place_of(Handle handle) const {
    std::size_t i = home_of(handle);
    while (buckets_[i] && buckets_[i]->first != handle) {
      i = next(i);
    }
    return i;
  }
  void grow() {
    constexpr unsigned first_bits = 6;
    const std::vector<Bucket> old = std::exchange(buckets_, {});
    shift_ = old.empty() ? 64 - first_bits : shift_ - 1;
    buckets_.resize(std::size_t{1} << (64 - shift_));
    for (const Bucket& bucket : old) {
      if (bucket) {
        buckets_[place_of(bucket->first)] = bucket;
      }
    }
  }

  unsigned shift_ = 0;
  std::size_t size_ = 0;
  std::vector<Bucket> buckets_; // as many as a power of two; at most half of them are used
};

} // namespace stoker::pmpi
