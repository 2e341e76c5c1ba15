// SPDX-License-Identifier: BSD-3-Clause
// The application's collectives as calls of the MPI library's own functions.
#pragma once

#include "api/pmpi/call.hpp"

#include <mpi.h>

#include <vector>

namespace stoker::pmpi {

// How many ranks and neighbors a communicator has, and whether this rank is the call's root.
[[nodiscard]] Peers peers_of(const CollectiveCall& call, MPI_Comm comm);

// Large counts and displacements for a library without functions that take them.
struct NarrowArrays {
  std::vector<int> sendcounts;
  std::vector<int> sdispls;
  std::vector<int> recvcounts;
  std::vector<int> rdispls;
};

// The MPI library's nonblocking function of the call's family, on `comm`, which has the ranks and the topology of the call's.
// MPI_ERR_COUNT where the library has none for large counts and one does not fit. What the call points to, and `arrays`, must be
// there until the request is complete.
[[nodiscard]] int start_mpi(const CollectiveCall& call, MPI_Comm comm, MPI_Request* request, NarrowArrays& arrays);

// Likewise the MPI library's persistent function. Collective over `comm`. MPI_ERR_UNSUPPORTED_OPERATION where it has none.
[[nodiscard]] int init_mpi(const CollectiveCall& call, MPI_Comm comm, MPI_Request* request, NarrowArrays& arrays);

// What functions for large counts do where the MPI library has none. The code that the application's call is to return.
[[nodiscard]] int call_narrowed(const CollectiveCall& call);
[[nodiscard]] int start_narrowed(const CollectiveCall& call, MPI_Request* request);

} // namespace stoker::pmpi
