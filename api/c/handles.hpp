// SPDX-License-Identifier: BSD-3-Clause
// Handles that can be checked: the value of a handle names a entry and a generation, so a freed, foreign or invented
// handle is recognised without touching the object that it once stood for.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace stoker::api {

// `Handle` is a pointer type that is never dereferenced. find() may run beside insert() and remove() of other handles.
template <class Object, class Handle>
class HandleTable {
public:
  // nullptr when the table is full.
  [[nodiscard]] Handle insert(Object object) {
    const std::lock_guard lock(mutex_);
    std::size_t index = 0;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else if (used_ < chunks_.size() * chunk_entries) {
      index = used_++;
      auto& chunk = chunks_[index / chunk_entries];
      if (chunk.load(std::memory_order_relaxed) == nullptr) {
        owned_.push_back(std::make_unique<Chunk>());
        chunk.store(owned_.back().get(), std::memory_order_release); // acquired in entry()
      }
    } else {
      return nullptr;
    }
    Entry& s = *entry(index);
    s.object = std::move(object);
    const std::uint64_t generation = s.generation.load(std::memory_order_relaxed) + 1; // odd: live
    s.generation.store(generation, std::memory_order_release);                         // acquired in find()
    return encode(index, generation);
  }

  // nullptr unless the handle is live.
  [[nodiscard]] Object* find(Handle handle) {
    const auto value = reinterpret_cast<std::uint64_t>(handle);
    Entry* s = entry(value & index_mask);
    if (s == nullptr || s->generation.load(std::memory_order_acquire) != value >> index_bits ||
        (value >> index_bits) % 2 == 0) {
      return nullptr;
    }
    return &s->object;
  }

  // Takes the object out. The handle must be live.
  [[nodiscard]] Object remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    const std::size_t index = reinterpret_cast<std::uint64_t>(handle) & index_mask;
    Entry& s = *entry(index);
    s.generation.fetch_add(1, std::memory_order_release);
    free_.push_back(index);
    return std::exchange(s.object, Object{});
  }

private:
  static constexpr unsigned index_bits = 24;
  static constexpr std::uint64_t index_mask = (std::uint64_t{1} << index_bits) - 1;
  static constexpr std::size_t chunk_entries = 4096;

  struct Entry {
    std::atomic<std::uint64_t> generation{0};
    Object object{};
  };
  using Chunk = std::array<Entry, chunk_entries>;

  static Handle encode(std::size_t index, std::uint64_t generation) {
    return reinterpret_cast<Handle>((generation << index_bits) | index); // NOLINT(performance-no-int-to-ptr)
  }
  Entry* entry(std::size_t index) {
    if (index >= chunks_.size() * chunk_entries) {
      return nullptr;
    }
    Chunk* chunk = chunks_[index / chunk_entries].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[index % chunk_entries];
  }

  std::mutex mutex_; // guards what follows; readers go through the atomics
  std::array<std::atomic<Chunk*>, (index_mask + 1) / chunk_entries> chunks_{};
  std::vector<std::unique_ptr<Chunk>> owned_;
  std::vector<std::size_t> free_;
  std::size_t used_ = 0;
};

} // namespace stoker::api
