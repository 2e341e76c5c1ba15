// SPDX-License-Identifier: BSD-3-Clause
// What the ranks' buffers hold before a collective and must hold after it.
#pragma once

#include "bench/smpi/point.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace stoker::bench {

[[nodiscard]] std::vector<std::byte> send_buffer(const Point& point, int rank, int ranks);
[[nodiscard]] std::vector<std::byte> recv_buffer(const Point& point, int ranks);

// Throws std::runtime_error, which names the first wrong byte or element.
void check(const Point& point, int rank, int ranks, std::span<const std::byte> recv);

} // namespace stoker::bench
