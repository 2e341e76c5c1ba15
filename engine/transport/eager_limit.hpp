// SPDX-License-Identifier: BSD-3-Clause
// The eager limit: the longest message that the MPI library sends to another host without asking the receiver first.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace stoker::engine {

// The limit in bytes, equal on all ranks. 0 if messages do not travel over TCP, or if not even 8 KiB go without asking.
// Open MPI with its own TCP states its limit. Else it is found out with four messages between two ranks of different
// nodes, which takes some milliseconds. Collective over `comm`, on which nothing else may be under way. MPI must be
// initialised.
[[nodiscard]] std::uint64_t agreed_eager_limit(MPI_Comm comm, int sender, int receiver);

} // namespace stoker::engine
