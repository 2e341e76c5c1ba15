// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

namespace stoker::engine {

// How the datatype was made: MPI_COMBINER_*, by a function with int or with large counts. Throws Error(mpi).
[[nodiscard]] int combiner_of(MPI_Datatype type);

// What a datatype of MPI_COMBINER_CONTIGUOUS or MPI_COMBINER_DUP was made of. The caller frees it, unless it is
// named. Throws Error(mpi).
[[nodiscard]] MPI_Datatype element_of(MPI_Datatype type);

// Whether the datatype is one of MPI's own. Nobody frees these. Predefined operators take them, but not their
// duplicates. Only pairs of value and location among them have gaps. Throws Error(mpi).
[[nodiscard]] bool is_named(MPI_Datatype type);

} // namespace stoker::engine
