// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

namespace stoker::engine {

// Whether the datatype is one of MPI's own: nobody frees them, predefined operators take them and not their duplicates,
// and only pairs of value and location among them have gaps. Throws Error(mpi).
[[nodiscard]] bool is_named(MPI_Datatype type);

} // namespace stoker::engine
