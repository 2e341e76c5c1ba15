// SPDX-License-Identifier: BSD-3-Clause
// All ranks form a chain, along which a vector travels in segments. Every link carries the vector once, and all links
// are busy at the same time.
#pragma once

#include "algos/collectives/registry.hpp"

#include <cstddef>

namespace stoker::algos {

// Node by node, from the root on.
struct Chain {
  int before = -1; // towards the root; -1: this is the root
  int behind = -1; // -1: this is the last
};
[[nodiscard]] Chain chain_of(const DistributedVector& vector);

// The number of segments of a vector that passes so many links, unless their size is fixed: so many that the first one
// reaches the other end after a quarter of the time that a link needs for all. Some hundreds at most, because each is a
// step of the program.
[[nodiscard]] std::size_t segments_of(const DistributedVector& vector, const Tuning& tuning, std::size_t links);

// Bytes of the vector for each rank below which the latency of a segment's messages is longer than the time for its
// bytes.
inline constexpr std::uint64_t least_chain_bytes_per_rank = std::uint64_t{8} * 1024;

} // namespace stoker::algos
