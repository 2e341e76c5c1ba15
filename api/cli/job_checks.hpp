// SPDX-License-Identifier: BSD-3-Clause
// The checks of `stoker doctor` on a running MPI job: the library, where its ranks are, how long a message takes, and
// whether an engine delivers the right data.
#pragma once

#include "api/cli/finding.hpp"
#include "api/cli/mpi_session.hpp"

namespace stoker::cli {

// Both are collective over MPI_COMM_WORLD; rank 0's answer is the one to print.
[[nodiscard]] Findings check_job(const MpiSession& session);
[[nodiscard]] Findings check_engine(const MpiSession& session);

} // namespace stoker::cli
