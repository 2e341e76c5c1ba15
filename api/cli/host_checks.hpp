// SPDX-License-Identifier: BSD-3-Clause
// The checks of `stoker doctor` that need no MPI. They try things out in short-lived processes that they fork, so they
// must run before MPI_Init.
#pragma once

#include "api/cli/finding.hpp"

namespace stoker::cli {

[[nodiscard]] Findings check_host();

} // namespace stoker::cli
