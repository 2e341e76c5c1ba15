// SPDX-License-Identifier: BSD-3-Clause
// Nothing is taken over, and the calls are only recorded (STOKER_PMPI_ADVISE=1): what they cost, and how much of that
// computation could have hidden. Of calls by the MPI library itself, within one of the application's, nothing is
// recorded.
#pragma once

#include "api/reports/advice.hpp"
#include "engine/data/collective_call.hpp"

#include <mpi.h>

#include <atomic>
#include <functional>
#include <optional>

namespace stoker::pmpi {

namespace detail {
inline constinit std::atomic<bool> advising{false};
} // namespace detail
[[nodiscard]] inline bool advising() { return detail::advising.load(std::memory_order_relaxed); }

// Once MPI is initialised, while the process has one thread in MPI.
void start_advising();
// What is still under way is forgotten.
void stop_advising();
// MPI_Pcontrol, while it records: level 0 leaves calls out from now on, another one takes them in again, and 2 also
// forgets what has been recorded.
void control_advising(int level);

// While it records: the MPI library carries the application's call out. Return code; nullopt if the call is none to
// record, and the MPI library has not been called.
[[nodiscard]] std::optional<int> advised_call(const engine::CollectiveCall& call);
[[nodiscard]] std::optional<int> advised_start(const engine::CollectiveCall& call, MPI_Request* request);
// `mpi` is the MPI library's function.
[[nodiscard]] int advised_init(const engine::CollectiveCall& call, MPI_Request* request,
                               const std::function<int(MPI_Request*)>& mpi);

// What this process has recorded.
[[nodiscard]] reports::Advice own_advice();

} // namespace stoker::pmpi
