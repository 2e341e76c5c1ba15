// SPDX-License-Identifier: BSD-3-Clause
// What functions for large counts do where the MPI library has none. The code that the application's call is to return.
#pragma once

#include "engine/data/collective_call.hpp"

#include <mpi.h>

namespace stoker::pmpi {

using engine::CollectiveCall;

[[nodiscard]] int call_narrowed(const CollectiveCall& call);
[[nodiscard]] int start_narrowed(const CollectiveCall& call, MPI_Request* request);

} // namespace stoker::pmpi
