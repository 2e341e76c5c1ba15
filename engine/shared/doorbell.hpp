// SPDX-License-Identifier: BSD-3-Clause
// Sleeping and waking between processes: the doorbell of a helper (or of a rank that waits), and the word by which the
// end of an epoch is announced. Both live in shared memory that every process maps at another address.
//
// Why no wake-up is lost. The ringer stores work and then loads `sleepers_`; the sleeper stores `sleepers_` and then
// looks for work. Each store may linger in its core's store buffer while the load behind it is done, so that each side
// could miss the other's store; the full fence between the two, on both sides, forbids it: at least one side sees the
// other. If it is the ringer, it moves `rings_` on before it wakes, and the kernel compares that word with the value
// which the sleeper read before it looked for work, so the moment between looking and sleeping is covered too.
// tests/models/doorbell.pml proves this, and shows the loss when either fence is left out.
#pragma once

#include "engine/base/cache_line.hpp"

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <optional>
#include <sys/syscall.h>
#include <type_traits>
#include <unistd.h>

namespace stoker::engine {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4,
              "futex words are 32-bit and address-free");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "words shared between processes must be address-free");

// Any number of sleepers and ringers, in any process. The words are not owned by anybody: a process that is killed
// while it sleeps costs later ringers a needless system call; one that is killed while it rings leaves its work to the
// next ring.
class alignas(cache_line) Doorbell {
public:
  // To be called after the work was published. Wakes every sleeper; returns whether that took a system call.
  bool ring() {
    std::atomic_thread_fence(std::memory_order_seq_cst); // pairs with the one in sleep()
    if (sleepers_.load(std::memory_order_relaxed) == 0 && nappers_.load(std::memory_order_relaxed) == 0) {
      return false;
    }
    wake();
    return true;
  }

  // The same for work that can wait: wakes only if somebody sleeps without a limit. A thread that naps finds the work
  // when its nap ends.
  bool nudge() {
    std::atomic_thread_fence(std::memory_order_seq_cst); // pairs with the one in sleep()
    if (sleepers_.load(std::memory_order_relaxed) == 0) {
      return false;
    }
    wake();
    return true;
  }

  // Sleeps until the next ring or until `timeout` (none: for ever), unless has_work() is true after the sleep has been
  // announced. May return for no reason: the caller looks for work itself. has_work must do no more than load.
  template <class Ready>
  void sleep(Ready has_work, std::optional<std::chrono::nanoseconds> timeout) {
    std::atomic<std::uint32_t>& announcement = timeout ? nappers_ : sleepers_;
    announcement.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t seen = rings_.load(std::memory_order_acquire); // pairs with the fetch_add in wake()
    std::atomic_thread_fence(std::memory_order_seq_cst);               // pairs with the ones in ring() and nudge()
    if (!has_work()) {
      timespec limit{};
      if (timeout) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*timeout);
        limit.tv_sec = static_cast<std::time_t>(seconds.count());
        limit.tv_nsec = static_cast<long>((*timeout - seconds).count());
      }
      futex(FUTEX_WAIT, seen, timeout ? &limit : nullptr);
    }
    announcement.fetch_sub(1, std::memory_order_relaxed);
  }

  // Whether anybody sleeps or is about to. A hint only.
  [[nodiscard]] bool asleep() const {
    return sleepers_.load(std::memory_order_relaxed) != 0 || nappers_.load(std::memory_order_relaxed) != 0;
  }

  // Whether no more threads are said to sleep than there can be.
  [[nodiscard]] bool plausible(std::uint32_t most) const {
    return sleepers_.load(std::memory_order_relaxed) <= most && nappers_.load(std::memory_order_relaxed) <= most;
  }

private:
  void wake() {
    rings_.fetch_add(1, std::memory_order_release); // acquired by sleep(): whoever sees the ring sees the work
    futex(FUTEX_WAKE, INT_MAX, nullptr);
  }

  // Not FUTEX_PRIVATE_FLAG: the other side is in another process. Errors need no look: a changed word, a timeout and a
  // signal all mean "look again", and nothing else can happen to an aligned word of a live mapping.
  void futex(int operation, std::uint32_t value, const timespec* timeout) {
    syscall(SYS_futex, &rings_, operation, value, timeout, nullptr, 0);
  }

  std::atomic<std::uint32_t> rings_{0};    // the futex word: rings that met a sleeper
  std::atomic<std::uint32_t> sleepers_{0}; // without a limit
  std::atomic<std::uint32_t> nappers_{0};  // with one
};
static_assert(std::is_standard_layout_v<Doorbell> && sizeof(Doorbell) == cache_line);

// The newest epoch of a request that is complete. Written by whoever executed its last step, read by the rank. The
// sleep goes through a doorbell of the rank, not of the request: so a rank can wait for any of several requests, and
// the publisher's last access to the request's memory is its release store.
class CompletionWord {
public:
  // Everything written before is visible to whoever sees the epoch. Returns whether a sleeper had to be woken.
  bool publish(std::uint64_t epoch, Doorbell& waiters) {
    completed_.store(epoch, std::memory_order_release); // acquired by reached()
    return waiters.ring();
  }

  // The same where nobody ever sleeps for it.
  void publish(std::uint64_t epoch) { completed_.store(epoch, std::memory_order_release); } // acquired by reached()

  [[nodiscard]] bool reached(std::uint64_t epoch) const {
    return completed_.load(std::memory_order_acquire) >= epoch; // pairs with publish()
  }
  [[nodiscard]] std::uint64_t epoch() const { return completed_.load(std::memory_order_acquire); }

  // Sleeps until `epoch` is complete or `timeout` has passed (none: for ever); returns whether it is complete.
  bool wait_for(std::uint64_t epoch, Doorbell& waiters, std::optional<std::chrono::nanoseconds> timeout) const {
    using Clock = std::chrono::steady_clock;
    const auto deadline = timeout ? std::optional(Clock::now() + *timeout) : std::nullopt;
    while (!reached(epoch)) {
      std::optional<std::chrono::nanoseconds> left;
      if (deadline) {
        left = *deadline - Clock::now();
        if (*left <= std::chrono::nanoseconds::zero()) {
          return false;
        }
      }
      waiters.sleep([&] { return reached(epoch); }, left);
    }
    return true;
  }

private:
  std::atomic<std::uint64_t> completed_{0};
};
static_assert(std::is_standard_layout_v<CompletionWord> && sizeof(CompletionWord) == 8);

} // namespace stoker::engine
