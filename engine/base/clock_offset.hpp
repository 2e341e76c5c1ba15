// SPDX-License-Identifier: BSD-3-Clause
// Clocks of different hosts: CLOCK_MONOTONIC begins with each boot.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace stoker::engine {

// Collective over comm: what to add to this process's now_ns() for that of rank 0. 0 where both have the same clock,
// else measured, and wrong by half a message's way there and back at most.
[[nodiscard]] std::int64_t offset_to_rank_0(MPI_Comm comm);

} // namespace stoker::engine
