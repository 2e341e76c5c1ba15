// SPDX-License-Identifier: BSD-3-Clause
// What `stoker doctor` finds out about a host without MPI, by trying it: the checks fork short-lived processes and so
// must run before MPI_Init.
#pragma once

#include "api/cli/finding.hpp"

namespace stoker::cli {

[[nodiscard]] Findings check_host();

} // namespace stoker::cli
