// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace stoker::engine {

// CLOCK_MONOTONIC in ns: the same for all processes of a node.
[[nodiscard]] std::uint64_t now_ns();

} // namespace stoker::engine
