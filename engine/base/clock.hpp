// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <ctime>

namespace stoker::engine {

// CLOCK_MONOTONIC in ns: the same for all processes of a node.
[[nodiscard]] inline std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U) + static_cast<std::uint64_t>(t.tv_nsec);
}

} // namespace stoker::engine
