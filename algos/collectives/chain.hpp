// SPDX-License-Identifier: BSD-3-Clause
// All ranks one behind the other, and a vector that goes along them in segments: every link carries it once, at the same time as
// the others.
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

// How many segments. As many as it takes for the first one to be at the other end after a quarter of the time that a link needs
// for all, unless their size is fixed; some hundreds at most, as each is a step of the program.
[[nodiscard]] std::size_t segments_of(const DistributedVector& vector, const Tuning& tuning);

// Below so many bytes of the vector for each rank, a segment takes longer for the latency of its messages than for its bytes.
inline constexpr std::uint64_t least_chain_bytes_per_rank = std::uint64_t{32} * 1024;

} // namespace stoker::algos
