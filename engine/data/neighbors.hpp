// SPDX-License-Identifier: BSD-3-Clause
// Whom the topology of a communicator makes a rank's neighbors.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace stoker::engine {

// A rank's neighbors in the order in which MPI's neighborhood collectives take their blocks. MPI_PROC_NULL beyond the
// edge of a grid.
struct Neighbors {
  std::vector<int> targets;
  std::vector<int> sources;
  // Indices of sources: of several blocks from one rank, the first that it sends arrives in the first of these. In a
  // grid that is the opposite direction (MPI-4.1, section 8.6); in a graph the first, or what the MPI library does.
  std::vector<std::size_t> arrival_order;
};

// Local. Throws Error(argument) when the communicator has no topology.
[[nodiscard]] Neighbors neighbors_of(MPI_Comm comm);

} // namespace stoker::engine
