// SPDX-License-Identifier: BSD-3-Clause
// The queue by which a rank hands started epochs and operations on global memory to its domain's helper: one producer
// (the rank), one consumer (the helper), in shared memory. Its memory orders are those of boost::lockfree::spsc_queue:
//   push   stores the entry, then the write index (release); drain acquires the write index before it reads the entry.
//          What the rank wrote before push (its buffers, the block) is therefore visible to the helper in drain.
//   drain  has read the entry, then stores the read index (release); push acquires the read index before it overwrites
//          the entry.
// Neither orders a push before the load in Doorbell::ring; the doorbell has its own fence for that.
//
// Entries that can wait lie in the ring until the helper looks by itself, now and then. For all others the rank calls.
//   call   stores a word after the push (release); take_call acquires it, so that drain finds the entry.
#pragma once

#include <boost/lockfree/policies.hpp>
#include <boost/lockfree/spsc_queue.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
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

class alignas(64) SubmissionRing {
public:
  static constexpr std::size_t capacity = 256;

  // Producer only. false: full, nothing was stored.
  bool push(Submission submission) { return queue_.push(submission); }

  // Consumer only: hands at most `limit` entries, oldest first, to `consume(Submission)`; returns how many.
  template <class F>
  std::size_t drain(F&& consume, std::size_t limit) {
    const auto copy_and_consume = [&](const Submission& entry) { consume(Submission(entry)); };
    std::size_t count = 0;
    while (count < limit && queue_.consume_one(copy_and_consume)) {
      ++count;
    }
    return count;
  }

  // Consumer only. An acquire load; false means that drain finds an entry.
  [[nodiscard]] bool empty() const { return queue_.read_available() == 0; }

  // Either side: there are entries that cannot wait.
  void call() { called_.store(1, std::memory_order_release); }
  [[nodiscard]] bool called() const { return called_.load(std::memory_order_relaxed) != 0; }
  // Consumer only, before drain: whether it was called since the last time.
  [[nodiscard]] bool take_call() { return called() && called_.exchange(0, std::memory_order_acquire) != 0; }

private:
  boost::lockfree::spsc_queue<Submission, boost::lockfree::capacity<capacity>> queue_; // storage within; no pointers
  alignas(64) std::atomic<std::uint32_t> called_{0};
};
static_assert(std::atomic<std::size_t>::is_always_lock_free, "the ring's indices must be address-free");
static_assert(!std::is_polymorphic_v<SubmissionRing> && sizeof(SubmissionRing) >= 2 * 64 + 256 * sizeof(Submission));

} // namespace stoker::engine
