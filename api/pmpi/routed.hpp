// SPDX-License-Identifier: BSD-3-Clause
// A persistent collective that either the engine or the MPI library carries out, whichever has been faster: see
// engine/calls/route_trials.hpp.
#pragma once

#include "api/pmpi/by_mpi.hpp"
#include "api/pmpi/request.hpp"
#include "api/pmpi/statistics.hpp"

#include <memory>

namespace stoker::pmpi {

// Local. `engine` and `mpi` are requests of the same call, and inactive. MPI_THREAD_MULTIPLE is provided on all ranks.
// `of_mpi`: the values for the summary that are equal in all calls of the MPI library; `engine` records its own calls
// itself.
[[nodiscard]] std::unique_ptr<Request> make_routed(std::unique_ptr<Request> engine, std::unique_ptr<ByMpi> mpi,
                                                   const CallRecord& of_mpi);

// Local, before MPI is finalized: nothing is started in the background any more.
void end_put_off_starts();

} // namespace stoker::pmpi
