// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/core_share.hpp"

#include "engine/base/clock.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace stoker::engine {
namespace {

// What a system call takes on this machine if nothing comes between.
std::uint64_t system_call_ns() {
  constexpr int attempts = 16;
  auto least = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < attempts; ++i) {
    const std::uint64_t begin = now_ns();
    syscall(SYS_getppid); // does next to nothing
    least = std::min(least, now_ns() - begin);
  }
  return least;
}

} // namespace

void CoreShare::yield() {
  static const std::uint64_t call_ns = system_call_ns();
  const std::uint64_t begin = now_ns();
  sched_yield();
  yielded_for(now_ns() - begin, call_ns);
}

} // namespace stoker::engine
