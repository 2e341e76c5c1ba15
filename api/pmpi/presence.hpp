// SPDX-License-Identifier: BSD-3-Clause
// Whether all ranks have this library. MPI_Init of those that lack it does not come here, so no collective can tell.
#pragma once

#include <mpi.h>

namespace stoker::pmpi {

// Collective over the ranks of comm that have the library. True on all ranks of comm, or on none. A rank that lacks it
// or comes late is waited for `seconds`; then all go on without the engine, late ones too, and a line is printed.
[[nodiscard]] bool all_have_it(MPI_Comm comm, int seconds);

// Before MPI ends: gives up messages of ranks that never came.
void forget_missing_ranks();

} // namespace stoker::pmpi
