// SPDX-License-Identifier: BSD-3-Clause
// How long a message may be that the MPI library sends to another host without asking the receiver first.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace stoker::engine {

// In bytes, equal on all ranks; 0 where messages travel otherwise than over TCP, or nothing of 8 KiB goes without asking.
// What the library says of itself (Open MPI with its own TCP), else found out with four messages between two ranks of different
// nodes, some milliseconds. Collective over `comm`, on which nothing else may be under way. MPI must be initialised.
[[nodiscard]] std::uint64_t agreed_eager_limit(MPI_Comm comm, int sender, int receiver);

} // namespace stoker::engine
