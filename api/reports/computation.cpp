// SPDX-License-Identifier: BSD-3-Clause
#include "api/reports/computation.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace stoker::reports {

void Computation::called(std::uint64_t begin_ns, std::uint64_t end_ns) {
  const std::uint64_t begin = std::max(begin_ns, last_end_ns_); // another thread's call may have been counted already
  if (end_ns > begin) {
    in_calls_ns_ += end_ns - begin;
    last_end_ns_ = end_ns;
  }
}

std::uint64_t Computation::hide(std::uint64_t begin, std::uint64_t end, std::uint64_t wait_ns) {
  std::uint64_t hidden = 0;
  std::uint64_t at = begin;
  auto next = used_.upper_bound(at);
  if (next != used_.begin()) {
    at = std::max(at, std::prev(next)->second);
  }
  while (at < end && hidden < wait_ns) {
    const std::uint64_t free_until = next == used_.end() ? end : std::min(end, next->first);
    const std::uint64_t taken_until = std::min(free_until, at + (wait_ns - hidden));
    hidden += taken_until - at;
    use(at, taken_until);
    next = used_.upper_bound(at);
    at = std::prev(next)->second;
  }
  return hidden;
}

void Computation::use(std::uint64_t begin, std::uint64_t end) {
  constexpr std::size_t most = 256; // whoever waits for what began before them may take a little too much
  auto next = used_.lower_bound(begin);
  if (next != used_.end() && next->first == end) {
    end = next->second;
    next = used_.erase(next);
  }
  if (next != used_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
    return;
  }
  used_.emplace_hint(next, begin, end);
  if (used_.size() > most) {
    used_.erase(used_.begin());
  }
}

} // namespace stoker::reports
