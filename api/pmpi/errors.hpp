// SPDX-License-Identifier: BSD-3-Clause
// The engine's errors as errors of MPI.
#pragma once

#include "engine/base/error.hpp"

#include <mpi.h>

namespace stoker::pmpi {

// Calls the communicator's error handler, which may not return. Else returns the code that the application's call is to
// return; its MPI_Error_string is the error's text. MPI_COMM_NULL stands for MPI_COMM_SELF.
int report_error(MPI_Comm comm, const engine::Error& error);

// Only that code, for a status.
[[nodiscard]] int code_of(const engine::Error& error);

} // namespace stoker::pmpi
