// SPDX-License-Identifier: BSD-3-Clause
// The data of the reports: the calls from each place in the program on each communicator, kept only if reports are
// wanted; and what tools read, the totals of the process.
#pragma once

#include "api/pmpi/call_path.hpp"
#include "api/pmpi/state.hpp"
#include "api/reports/summary.hpp"
#include "api/reports/totals.hpp"
#include "engine/calls/call_under_way.hpp"

#include <mpi.h>

#include <compare>
#include <cstdint>

namespace stoker::engine {
class Engine;
}

namespace stoker::pmpi {

// Whose calls are summed up.
struct CallSite {
  CallPath path;
  std::uint32_t communicator = 0; // as name_number() says
  Collective collective = Collective::barrier;
  Form form = Form::nonblocking;
  auto operator<=>(const CallSite&) const = default;
};

// Whether finished calls are to be recorded: for reports, or because a tool reads performance variables. Any thread.
[[nodiscard]] bool calls_are_recorded();
// A tool reads performance variables from now on. Any thread, also before this library's constructors have run.
void record_for_tools();
// A call that is finished. Any thread.
void record(const CallSite& site, const engine::CallUnderWay& call);
// A number for the communicator's present name in reports: what MPI_Comm_get_name says. So calls on communicators of
// one name are summed up, and what is kept does not grow with those that come and go. Any thread.
[[nodiscard]] std::uint32_t name_number(MPI_Comm comm);
// Clears what was recorded of calls, and of those left to the MPI library.
void reset_statistics();
// What this process has to report.
[[nodiscard]] reports::Summary own_summary();

// Once MPI is initialised; null where there is no engine. Its helper is counted until this is called with null, which
// must happen before the engine is destroyed.
void count_engine(const engine::Engine* engine);
// This process's: calls of the engine since they are recorded, all else since the beginning. They do not become less,
// except that threads which count calls left to the MPI library at once may undo each other's counts. Any thread, also
// before this library's constructors have run.
[[nodiscard]] reports::Totals own_totals();
// Bytes in use in this process's shared memory; 0 without an engine. Any thread.
[[nodiscard]] std::uint64_t shared_bytes_in_use();

} // namespace stoker::pmpi
