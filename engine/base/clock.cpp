// SPDX-License-Identifier: BSD-3-Clause
// Alone in its file, so that a test that brings a clock of its own is linked without this one.
#include "engine/base/clock.hpp"

#include <ctime>

namespace stoker::engine {

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U) + static_cast<std::uint64_t>(t.tv_nsec);
}

} // namespace stoker::engine
