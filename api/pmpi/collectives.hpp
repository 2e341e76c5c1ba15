// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking and blocking collectives of the application. Functions return the code that the application's call is to
// return; nothing if MPI must carry the call out, with its arguments as they were.
#pragma once

#include "engine/data/collective_call.hpp"

#include <mpi.h>

#include <optional>

namespace stoker::pmpi {

using engine::CollectiveCall;

// Before a blocking call, while uses_are_noted: its communicator may get what its nonblocking calls need. Collective
// where the call waits for all ranks.
void note_use(const CollectiveCall& call);

// Local. Where MPI must carry the call out, it does so on `comm`: the call's communicator, unless this makes another
// one of it, with the same ranks and the same error handler.
[[nodiscard]] std::optional<int> nonblocking_call(const CollectiveCall& call, MPI_Request* request, MPI_Comm& comm);
[[nodiscard]] std::optional<int> blocking_call(const CollectiveCall& call);

} // namespace stoker::pmpi
