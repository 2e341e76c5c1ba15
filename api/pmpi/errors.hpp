// SPDX-License-Identifier: BSD-3-Clause
// The engine's errors as MPI's.
#pragma once

#include "engine/base/error.hpp"

#include <mpi.h>

namespace stoker::pmpi {

// Calls the communicator's error handler, which may not return; else the code that the application's call is to return, whose
// MPI_Error_string is the error's text. MPI_COMM_NULL: MPI_COMM_SELF's.
int report_error(MPI_Comm comm, const engine::Error& error);

// That code alone, for a status.
[[nodiscard]] int code_of(const engine::Error& error);

} // namespace stoker::pmpi
