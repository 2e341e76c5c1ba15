// SPDX-License-Identifier: BSD-3-Clause
// The queue by which a rank hands started epochs and operations on global memory to its domain's helper: one producer
// (the rank), one consumer (the helper), in shared memory. Both indices count for ever.
//   push   stores the entry, then the write index (release); drain acquires the write index before it reads the entry.
//          What the rank wrote before push (its buffers, the block) is therefore visible to the helper in drain.
//   drain  has read the entry, then stores the read index (release); push acquires the read index before it overwrites
//          the entry.
// Neither orders a push before the load in Doorbell::ring; the doorbell has its own fence for that.
//
// An entry has a checksum, in which its index is included. Whatever the words hold, drain hands out entries that were
// pushed, and reads nothing outside of the ring. Boost.Lockfree's spsc_queue would follow whatever its indices hold.
//
// Entries that can wait lie in the ring until the helper looks by itself, now and then. For all others the rank calls.
//   call   stores a word after the push (release); take_call acquires it, so that drain finds the entry.
#pragma once

#include "engine/base/cache_line.hpp"
#include "engine/shared/seal.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace stoker::engine {

enum class Submitted : std::uint64_t { epoch, operation };
inline constexpr std::size_t submitted_kinds = 2;

struct Submission {
  std::uint64_t block;     // offset of the request's block, or of the operation, in the submitting rank's arena
  std::uint64_t epoch = 0; // of the operation; a block tells by itself
  Submitted what = Submitted::epoch;
};
static_assert(std::is_trivially_copyable_v<Submission> && std::is_standard_layout_v<Submission>);

class alignas(cache_line) SubmissionRing {
public:
  static constexpr std::size_t capacity = 256;

  // Producer only. false: full, nothing was stored.
  bool push(const Submission& submission) {
    const std::uint64_t at = written_.load(std::memory_order_relaxed);
    if (at - read_.load(std::memory_order_acquire) >= capacity) { // pairs with drain()
      return false;
    }
    entries_[at % capacity] = {submission, checksum(at, &submission, sizeof submission)};
    written_.store(at + 1, std::memory_order_release); // acquired in drain() and empty()
    return true;
  }

  // Producer only.
  [[nodiscard]] bool is_half_full() const {
    return written_.load(std::memory_order_relaxed) - read_.load(std::memory_order_relaxed) >= capacity / 2;
  }

  // Consumer only: hands at most `limit` entries, oldest first, to `consume(Submission)`, and returns how many. Returns
  // nothing where the ring is damaged, and leaves it empty.
  template <class F>
  std::optional<std::size_t> drain(F&& consume, std::size_t limit) {
    const std::uint64_t written = written_.load(std::memory_order_acquire); // pairs with push()
    const std::uint64_t begin = read_.load(std::memory_order_relaxed);
    std::uint64_t at = begin;
    bool intact = written - begin <= capacity;
    while (intact && at != written && at - begin < limit) {
      const Entry entry = copy_once(entries_[at % capacity]);
      intact = entry.seal == checksum(at, &entry.submission, sizeof entry.submission);
      if (intact) {
        read_.store(++at, std::memory_order_release); // acquired in push()
        consume(entry.submission);
      }
    }
    if (!intact) {
      read_.store(written, std::memory_order_release);
      return std::nullopt;
    }
    return at - begin;
  }

  // Consumer only. An acquire load; false means that drain finds an entry.
  [[nodiscard]] bool empty() const {
    return written_.load(std::memory_order_acquire) == read_.load(std::memory_order_relaxed);
  }

  // Either side: there are entries that cannot wait.
  void call() { called_.store(1, std::memory_order_release); }
  [[nodiscard]] bool called() const { return called_.load(std::memory_order_relaxed) != 0; }
  // Consumer only, before drain: whether it was called since the last time.
  [[nodiscard]] bool take_call() { return called() && called_.exchange(0, std::memory_order_acquire) != 0; }

private:
  struct Entry {
    Submission submission;
    std::uint64_t seal;
  };
  alignas(cache_line) std::atomic<std::uint64_t> written_{0}; // by the producer
  alignas(cache_line) std::atomic<std::uint64_t> read_{0};    // by the consumer
  alignas(cache_line) std::atomic<std::uint32_t> called_{0};
  alignas(cache_line) std::array<Entry, capacity> entries_;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "the ring's indices must be address-free");
static_assert(std::is_standard_layout_v<SubmissionRing>);

} // namespace stoker::engine
