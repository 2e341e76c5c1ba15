// SPDX-License-Identifier: BSD-3-Clause
// The MPI library's own collectives, for calls that stoker leaves to it.
#pragma once

#include "algos/collectives/registry.hpp"
#include "engine/core/engine.hpp"
#include "engine/data/vector_arguments.hpp"

namespace stoker::engine {

// Collective over the context's communicator; returns when this rank's part is done. Meanwhile this thread makes the progress that
// inline requests need. The arguments have been checked. Throws Error(unsupported) for counts and displacements beyond int,
// Error(mpi).
void call_mpi(Engine& engine, const CommContext& context, algos::Collective collective,
              const VectorArguments& arguments);

} // namespace stoker::engine
