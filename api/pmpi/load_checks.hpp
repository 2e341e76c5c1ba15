// SPDX-License-Identifier: BSD-3-Clause
// Ways in which this library can be loaded wrongly. Each is named in one line on standard error.
#pragma once

#include <mpi.h>

namespace stoker::pmpi {

// Before MPI_Init, which does not work then. What comes first in a wrong order is found as the process begins, since MPI_Init does not
// come here.
bool complain_of_mixed_libraries(); // whether there was a reason to

// Collective over comm, of whose ranks some may not have this library: their MPI_Init does not come here. True on all ranks that have
// it, or on none; a line then. Ends the job where rank 0 has not, since the others cannot agree without.
[[nodiscard]] bool all_have_it(MPI_Comm comm, int timeout_seconds);

} // namespace stoker::pmpi
