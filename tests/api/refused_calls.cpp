// SPDX-License-Identifier: BSD-3-Clause
// This program's PMPI_Isend and PMPI_Irecv stand before the MPI library's. MPI_Isend and MPI_Irecv are the library's.
#include "tests/api/refused_calls.hpp"

#include <mpi.h>

namespace api_tests {

std::atomic<bool> sends_fail{false};
std::atomic<bool> receives_fail{false};

} // namespace api_tests

extern "C" int PMPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                          MPI_Request* request) {
  return api_tests::sends_fail.load() ? MPI_ERR_OTHER : MPI_Isend(buf, count, datatype, dest, tag, comm, request);
}

extern "C" int PMPI_Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                          MPI_Request* request) {
  return api_tests::receives_fail.load() ? MPI_ERR_OTHER : MPI_Irecv(buf, count, datatype, source, tag, comm, request);
}
