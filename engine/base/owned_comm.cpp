// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/owned_comm.hpp"

#include "engine/base/agreement.hpp"

namespace stoker::engine {

OwnedComm OwnedComm::duplicate_of(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  return OwnedComm(copy);
}

OwnedComm::~OwnedComm() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (comm_ != MPI_COMM_NULL && finalized == 0) {
    MPI_Comm_free(&comm_);
  }
}

} // namespace stoker::engine
