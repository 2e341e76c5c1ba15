// SPDX-License-Identifier: BSD-3-Clause
// Initialises neighborhood all-to-all requests: who the neighbors are, what each rank knows of the others' blocks, and the
// program of this rank.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/arguments.hpp"
#include "engine/requests/request.hpp"

#include <memory>
#include <vector>

namespace stoker::engine {

// A rank's neighbors in the order in which MPI's neighborhood collectives take their blocks. MPI_PROC_NULL beyond the edge of
// a grid.
struct Neighbors {
  std::vector<int> targets;
  std::vector<int> sources;
  // Indices of sources: of several blocks from one rank, the first that it sends arrives in the first of these. In a grid that
  // is the opposite direction (MPI-4.1, section 8.6).
  std::vector<std::size_t> arrival_order;
};

// Local. Throws Error(argument) when the communicator has no topology.
[[nodiscard]] Neighbors neighbors_of(MPI_Comm comm);

// neighbor_alltoall or neighbor_alltoallv; the arrays hold one entry per neighbor. Collective over the communicator. Throws
// Error on every rank.
[[nodiscard]] std::unique_ptr<Request> make_neighbor_alltoall(const std::shared_ptr<Engine>& engine,
                                                              algos::Collective collective, const Neighbors& neighbors,
                                                              const ExchangeArguments& given);

} // namespace stoker::engine
