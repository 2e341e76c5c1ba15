// SPDX-License-Identifier: BSD-3-Clause
// Whether this thread has its core to itself. It learns that from the length of its yields: a yield that nobody makes
// use of returns in well under a microsecond.
#pragma once

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

  // Learns from the length of a yield. If another thread took the core there were two switches at least, more than 2
  // us; else a yield takes 0.4 us.
  void yielded_for(std::uint64_t ns) { unused_in_a_row_ = ns > taken_ns ? 0 : unused_in_a_row_ + 1; }

private:
  static constexpr std::uint64_t taken_ns = 1200;
  static constexpr unsigned forget_after = 64; // yields
  unsigned unused_in_a_row_ = forget_after;
};

} // namespace stoker::engine
