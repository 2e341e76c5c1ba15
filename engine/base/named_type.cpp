// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/named_type.hpp"

#include "engine/base/agreement.hpp"

namespace stoker::engine {

int combiner_of(MPI_Datatype type) {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  check_mpi(PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner), "MPI_Type_get_envelope");
  return combiner;
}

bool is_named(MPI_Datatype type) {
  const int combiner = combiner_of(type);
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX;
}

} // namespace stoker::engine
