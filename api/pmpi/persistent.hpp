// SPDX-License-Identifier: BSD-3-Clause
// MPI-4's persistent collectives (MPI-4.1, section 6.13): by the engine, else by the MPI library, else made of the
// library's nonblocking calls.
#pragma once

#include "engine/data/collective_call.hpp"

#include <mpi.h>

#include <functional>

namespace stoker::pmpi {

using engine::CollectiveCall;

// Calls the MPI library's own function with the arguments of the call. Empty if the library has none.
using MpiInit = std::function<int(MPI_Request* request)>;

// Collective. Returns what the application's call is to return. Errors have already been passed to the communicator's
// error handler.
[[nodiscard]] int persistent_init(const CollectiveCall& call, MPI_Info info, MPI_Request* request, const MpiInit& mpi);

} // namespace stoker::pmpi
