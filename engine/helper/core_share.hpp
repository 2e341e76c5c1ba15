// SPDX-License-Identifier: BSD-3-Clause
// Whether this thread has its core to itself, learnt from what giving it away costs: a yield that nobody makes use of is
// back in well under a microsecond.
#pragma once

#include <cstdint>

namespace stoker::engine {

// Of one thread.
class CoreShare {
public:
  // Somebody else has wanted the core lately: polling keeps from running what is being waited for.
  [[nodiscard]] bool contended() const { return unused_in_a_row_ < forget_after; }
  // Gives the core away for once.
  void yield();

  // What yield() learns from its own length: with a taker two switches at least, more than 2 us; without one 0.4 us.
  void yielded_for(std::uint64_t ns) { unused_in_a_row_ = ns > taken_ns ? 0 : unused_in_a_row_ + 1; }

private:
  static constexpr std::uint64_t taken_ns = 1200;
  static constexpr unsigned forget_after = 64; // yields
  unsigned unused_in_a_row_ = forget_after;
};

} // namespace stoker::engine
