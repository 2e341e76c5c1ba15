// SPDX-License-Identifier: BSD-3-Clause
// Ways in which this library can be loaded wrongly. Each is named in one line on standard error.
#pragma once

#include <mpi.h>

namespace stoker::pmpi {

// To be called before MPI_Init, which does not work with mixed libraries. A wrong order of libraries is found when the
// process begins, because MPI_Init does not reach this library then.
bool complain_of_mixed_libraries(); // whether there was a reason to

// Whether all ranks of comm have this library; MPI_Init of those that lack it does not come here. Collective over the
// others. Returns true on all ranks that have it, or on none, and then prints a line. Ends the job if rank 0 lacks it,
// because the others cannot agree without it.
[[nodiscard]] bool all_have_it(MPI_Comm comm, int timeout_seconds);

} // namespace stoker::pmpi
