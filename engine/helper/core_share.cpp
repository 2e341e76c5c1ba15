// SPDX-License-Identifier: BSD-3-Clause
#include "engine/helper/core_share.hpp"

#include "engine/base/clock.hpp"

#include <sched.h>

namespace stoker::engine {

void CoreShare::yield() {
  const std::uint64_t begin = now_ns();
  sched_yield();
  yielded_for(now_ns() - begin);
}

} // namespace stoker::engine
