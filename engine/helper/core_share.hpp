// SPDX-License-Identifier: BSD-3-Clause
// Whether this thread has its core to itself. It learns that from the length of its yields: one that nobody makes use
// of is hardly longer than a system call, which takes 0.1 us on one machine and 1.1 us on another.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stoker::engine {

class CoreShare {
public:
  static CoreShare& of_this_thread() {
    thread_local CoreShare share;
    return share;
  }

  // Somebody else has wanted the core lately. The thread that could bring about what is waited for may be among them.
  [[nodiscard]] bool contended() const { return unused_in_a_row_ < forget_after; }
  // Gives the core away for once.
  void yield();

  // Gives it away in a wait that may spin, to learn whether that is still so: the longer nobody has made use of that,
  // the more seldom, as it may take as long as a short message.
  void probe(std::uint64_t now) {
    if (now >= next_probe_ns_) {
      yield();
      next_probe_ns_ = now + probe_interval_ns();
    }
  }
  [[nodiscard]] std::uint64_t probe_interval_ns() const {
    return contended() ? 0 : std::min((unused_in_a_row_ - forget_after) * std::uint64_t{1000}, longest_interval_ns);
  }

  // Learns from the length of a yield, where a system call takes so long. Nobody used a yield that took 0.2 us longer
  // than that. If another thread took the core there were two switches, of some 0.7 us each, and a call of that
  // thread's.
  void yielded_for(std::uint64_t ns, std::uint64_t call_ns) {
    unused_in_a_row_ = ns > (2 * call_ns) + switches_ns ? 0 : unused_in_a_row_ + 1;
  }

private:
  static constexpr std::uint64_t switches_ns = 800; // less than two
  static constexpr unsigned forget_after = 64;      // yields
  static constexpr std::uint64_t longest_interval_ns = 100'000;
  unsigned unused_in_a_row_ = forget_after;
  std::uint64_t next_probe_ns_ = 0;
};

} // namespace stoker::engine
