// SPDX-License-Identifier: BSD-3-Clause
// The data of the reports: the calls from each place in the program on each communicator. Kept only if reports are
// wanted.
#pragma once

#include "api/pmpi/call_path.hpp"
#include "api/pmpi/state.hpp"
#include "api/reports/summary.hpp"
#include "engine/calls/call_under_way.hpp"

#include <mpi.h>

#include <compare>
#include <cstdint>

namespace stoker::pmpi {

// Whose calls are summed up.
struct CallSite {
  CallPath path;
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
// What this process has to report.
[[nodiscard]] reports::Summary own_summary();

} // namespace stoker::pmpi
