// SPDX-License-Identifier: BSD-3-Clause
// Collective calls that the MPI library's own functions carry out: its blocking, nonblocking or persistent ones.
#pragma once

#include "engine/data/collective_call.hpp"

#include <mpi.h>

#include <vector>

namespace stoker::engine {

// Large counts and displacements for a library without functions that take them.
struct NarrowArrays {
  std::vector<int> sendcounts;
  std::vector<int> sdispls;
  std::vector<int> recvcounts;
  std::vector<int> rdispls;
  bool fit = true; // else MPI has not been called
};

// All return MPI's code, or MPI_ERR_COUNT where the library has no function for large counts and one does not fit.
// `comm` has the ranks and the topology of the call's.

[[nodiscard]] int call_mpi(const CollectiveCall& call, MPI_Comm comm);
[[nodiscard]] int call_mpi(const CollectiveCall& call, MPI_Comm comm, NarrowArrays& arrays);
// What the call points to, and `arrays`, must be there until the request is complete.
[[nodiscard]] int start_mpi(const CollectiveCall& call, MPI_Comm comm, MPI_Request* request, NarrowArrays& arrays);
// Collective over `comm`. MPI_ERR_UNSUPPORTED_OPERATION where the library has no persistent collectives.
[[nodiscard]] int init_mpi(const CollectiveCall& call, MPI_Comm comm, MPI_Request* request, NarrowArrays& arrays);

} // namespace stoker::engine
