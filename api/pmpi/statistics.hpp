// SPDX-License-Identifier: BSD-3-Clause
// The data of the summary: the calls from each place in the program on each communicator. Kept only if a summary was
// asked for.
#pragma once

#include "api/pmpi/state.hpp"
#include "engine/calls/call_under_way.hpp"

#include <mpi.h>

#include <compare>
#include <cstdint>

namespace stoker::pmpi {

// Whose calls are summed up.
struct CallSite {
  const void* site = nullptr;
  std::uint64_t communicator = 0; // its id
  Collective collective = Collective::barrier;
  Form form = Form::nonblocking;
  auto operator<=>(const CallSite&) const = default;
};

// A call that is finished. Any thread.
void record(const CallSite& site, const engine::CallUnderWay& call);
// Its name in the summary: what MPI_Comm_get_name says.
void name_communicator(std::uint64_t id, MPI_Comm comm);
// Clears what was recorded of calls, and of those left to the MPI library.
void reset_statistics();
// Collective. `file`: "1" for standard error. Rank 0 writes.
void write_summary(MPI_Comm comm, const char* file);

} // namespace stoker::pmpi
