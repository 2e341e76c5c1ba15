// SPDX-License-Identifier: BSD-3-Clause
// Carries out a function for large counts that the MPI library lacks. Returns the code that the application's call is
// to return.
#pragma once

#include "engine/data/collective_call.hpp"

#include <mpi.h>

namespace stoker::pmpi {

using engine::CollectiveCall;

[[nodiscard]] int call_narrowed(const CollectiveCall& call);
[[nodiscard]] int start_narrowed(const CollectiveCall& call, MPI_Request* request);

} // namespace stoker::pmpi
