// SPDX-License-Identifier: BSD-3-Clause
// Whom the topology of a communicator makes a rank's neighbors.
#pragma once

#include "algos/collectives/collective.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stoker::engine {

// A rank's neighbors in the order in which MPI's neighborhood collectives take their blocks. MPI_PROC_NULL beyond the
// edge of a grid.
struct Neighbors {
  std::vector<int> targets;
  std::vector<int> sources;
  // Indices of sources: of several blocks from one rank, the first that it sends arrives in the first of these. In a
  // grid that is the opposite direction (MPI-4.1, section 8.6).
  std::vector<std::size_t> arrival_order;
  // The collectives for which the MPI library has it the other way round, in a graph with several edges from one rank.
  std::vector<algos::Collective> reversed;

  // The index of the source whose block is the i-th of those that arrive.
  [[nodiscard]] std::size_t arriving(std::size_t i, algos::Collective collective) const {
    const bool from_the_end = std::ranges::find(reversed, collective) != reversed.end();
    return arrival_order[from_the_end ? arrival_order.size() - 1 - i : i];
  }
};

// Local. Throws Error(argument) when the communicator has no topology.
[[nodiscard]] Neighbors neighbors_of(MPI_Comm comm);

} // namespace stoker::engine
