// SPDX-License-Identifier: BSD-3-Clause
// Who executes a program now: the domain's helper, or the owning rank that assists inside Wait. One word in the
// request's block, shared between processes.
//
// Hand-off. An executor takes the word, executes one or more whole steps, and gives it back; it never holds it while it
// waits for anything. The state of the program (steps left, work lists, completed epoch) is plain memory that is
// touched only by the holder: release() publishes it, the next try_acquire() sees it. A failed attempt is no reason to
// wait: the other one is making the progress.
//
// A block has at most one entry in the submission ring. It outlives the epoch for which it was pushed: the rank may
// execute the epoch itself, complete it, start the next ones or free the request before the helper pops the entry. So
//   - the rank exchanges its epoch into the block's word `submitted`, and pushes an entry if it found 0 there;
//   - the helper, which has popped an entry, exchanges 0 into the word: what it finds is the newest epoch that it knows
//     of, and the next Start pushes an entry again;
//   - it keeps the block listed until it has seen, while holding the ownership, that completed >= the newest epoch it
//     popped for the block;
//   - it then releases the ownership and stores that epoch to `retired` (release) as its last access to the block;
//   - the rank gives the block's memory back only when retired (acquire) == the last epoch that it started.
// tests/models/ownership.pml proves that no epoch is lost or executed twice and that no access follows the reuse.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <type_traits>

namespace stoker::engine {

// Who holds it.
enum ExecutorId : std::uint32_t { helper_executor = 1, rank_executor = 2 };

class Ownership {
public:
  static constexpr std::uint32_t nobody = 0;

  // `executor_id` is any value but nobody, different for every thread that may contend.
  bool try_acquire(std::uint32_t executor_id) {
    assert(executor_id != nobody);
    if (owner_.load(std::memory_order_relaxed) != nobody) { // does not take the line from the holder
      return false;
    }
    std::uint32_t expected = nobody;
    return owner_.compare_exchange_strong(expected, executor_id, std::memory_order_acquire, // pairs with release()
                                          std::memory_order_relaxed);
  }

  // By the holder, at a step boundary.
  void release() {
    owner_.store(nobody, std::memory_order_release); // acquired by try_acquire()
  }

  // A hint, except to the holder.
  [[nodiscard]] std::uint32_t owner() const { return owner_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint32_t> owner_{nobody};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::is_standard_layout_v<Ownership>);

} // namespace stoker::engine
