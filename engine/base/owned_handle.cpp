// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/owned_handle.hpp"

#include "engine/base/agreement.hpp"

namespace stoker::engine {

OwnedComm OwnedComm::duplicate_of(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(PMPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  return OwnedComm(copy);
}

} // namespace stoker::engine
