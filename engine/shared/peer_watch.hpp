// SPDX-License-Identifier: BSD-3-Clause
// Which processes of the node are gone: one look for all requests of a process and an interval.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include <sys/types.h>

namespace stoker::engine {

// A process, and not another one that gets its number later.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t began = 0; // in clock ticks since the system began; 0: the system does not tell
};
[[nodiscard]] ProcessId process_of(pid_t pid);
// Also true for one that was killed and that its parent has not waited for yet.
[[nodiscard]] bool is_gone(const ProcessId& process);

class PeerWatch {
public:
  // A look takes some 10 us for each process, so it takes these in turn.
  static constexpr std::uint64_t interval_ns = 50'000'000;
  static constexpr std::size_t processes_at_a_time = 16;

  // All are added before the first look.
  void add(const ProcessId& process) { peers_.emplace_back().process = process; }
  // Looks at the next processes, unless another look was less than an interval ago. Any thread.
  void look(std::uint64_t now_ns);
  // Whether a look has found that process, by the order in which they were added, gone.
  [[nodiscard]] bool gone(std::size_t peer) const { return peers_[peer].gone.load(std::memory_order_relaxed); }

private:
  struct Peer {
    ProcessId process;
    std::atomic<bool> gone{false};
  };
  std::deque<Peer> peers_; // which, unlike a vector, need not move them
  std::mutex mutex_;       // guards what follows
  std::uint64_t next_look_ns_ = 0;
  std::size_t next_ = 0;
};

} // namespace stoker::engine
