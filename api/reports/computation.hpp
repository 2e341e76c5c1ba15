// SPDX-License-Identifier: BSD-3-Clause
// How long a process computes, seen from the MPI functions that it calls, and how much of their time that computation
// could have hidden. Pure: the caller brings the times.
#pragma once

#include <cstdint>
#include <map>

namespace stoker::reports {

// Times are in ns. The clock of computation is the caller's clock less the time in MPI functions.
class Computation {
public:
  // A call of an MPI function lasted from begin to end. Calls come in the order of their ends.
  void called(std::uint64_t begin_ns, std::uint64_t end_ns);
  // What the clock of computation says when the caller's says `now_ns`, after the last call.
  [[nodiscard]] std::uint64_t clock(std::uint64_t now_ns) const { return now_ns - in_calls_ns_; }
  [[nodiscard]] std::uint64_t in_calls_ns() const { return in_calls_ns_; }

  // How much of a wait of so many ns the computation of a span, by its own clock, could have hidden at best. That part
  // of the computation hides nothing else later. Waits come in the order in which their spans end: the earliest
  // computation that is left is then the best to take, for any sum over all waits.
  [[nodiscard]] std::uint64_t hide(std::uint64_t begin, std::uint64_t end, std::uint64_t wait_ns);

private:
  void use(std::uint64_t begin, std::uint64_t end);

  std::uint64_t in_calls_ns_ = 0;
  std::uint64_t last_end_ns_ = 0;
  std::map<std::uint64_t, std::uint64_t> used_; // begins and ends of spans that touch nowhere; the oldest are forgotten
};

} // namespace stoker::reports
