// SPDX-License-Identifier: BSD-3-Clause
// Values of MPI_Request for this library's requests. Each is a real handle of the MPI library's, of a persistent
// request to MPI_PROC_NULL that is never started, so that it can be converted to Fortran's and back, compared, stored
// and, by a function that this library does not know, harmlessly looked at. They are made when needed and used again.
#pragma once

#include "api/pmpi/request.hpp"

#include <mpi.h>

#include <memory>

namespace stoker::pmpi {

// Any thread, between MPI_Init and the end of MPI_Finalize.
[[nodiscard]] MPI_Request insert(std::unique_ptr<Request> request); // throws engine::Error(resource)
// nullptr: not one of this library's. Costs a few nanoseconds, also where there are many.
[[nodiscard]] Request* find(MPI_Request handle);
// The handle must be this library's.
[[nodiscard]] std::unique_ptr<Request> remove(MPI_Request handle);
// Whether there is any: a look at one counter.
[[nodiscard]] bool any_requests();
[[nodiscard]] int requests_in_use();
// At finalize: frees the handles that are not in use.
void free_handles();

} // namespace stoker::pmpi
