// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls that stoker leaves to the MPI library.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/collective_call.hpp"

namespace stoker::engine {

// Collective over the context's communicator; returns when this rank's part is done. Meanwhile this thread makes the
// progress that inline requests need. The arguments have been checked. Throws Error(unsupported) for counts that the
// library cannot take, Error(mpi).
void wait_for_mpi(Engine& engine, const CommContext& context, const CollectiveCall& call);

// For the code that start_mpi() returned. Throws the same.
void check_start(int code, algos::Collective collective);

} // namespace stoker::engine
