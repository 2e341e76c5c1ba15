// SPDX-License-Identifier: BSD-3-Clause
// Windows pay on networks with RDMA. Elsewhere the MPI library makes messages of puts, and a flush waits until the
// target answers. Which of the two a job has is found out by trying.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace stoker::engine {

struct WindowTrial {
  bool dynamic = false;    // memory is attached to the window, rather than its own
  bool takes_part = true;  // this rank puts, and has memory to put to; else it only meets the others
  std::uint64_t bytes = 0; // of a message; at least one, and equal on all ranks
};

// Whether data get to a few other ranks sooner by puts, a flush and a barrier that does not block than by messages, in
// the median of a few turns on the slowest rank. Collective over comm, whose ranks get the same answer. No if the MPI
// library refuses a window, or fails in the trial; yes if nobody has anybody to put to. Throws Error(resource).
[[nodiscard]] bool window_is_faster(MPI_Comm comm, const WindowTrial& trial);

} // namespace stoker::engine
