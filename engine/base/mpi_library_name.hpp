// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace stoker::engine {

// The library that runs, not the one that was compiled against: "MPICH 4.0.2 (ch4:ucx)", "Open MPI 4.1.4"; others are
// called by the first line of what they say.
[[nodiscard]] std::string mpi_library_name();

} // namespace stoker::engine
