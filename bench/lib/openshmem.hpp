// SPDX-License-Identifier: BSD-3-Clause
// OpenSHMEM of the MPI library as a way of one-sided communication. Its library is loaded when it is first asked for,
// because from then on it takes part in every wait inside MPI, also in those of the other ways.
#pragma once

#include "bench/lib/one_sided.hpp"

#include <mpi.h>

#include <cstddef>
#include <memory>

namespace stoker::bench {

// The symmetric heap is as large as SHMEM_SYMMETRIC_HEAP_SIZE says. Throws std::runtime_error on all ranks where there is
// no OpenSHMEM, or not so much memory. Collective; `comm` has the ranks of MPI_COMM_WORLD.
std::unique_ptr<OneSided> make_openshmem(MPI_Comm comm, std::size_t bytes);

// Finalises MPI, and OpenSHMEM if it was asked for. Collective.
void finalize();

} // namespace stoker::bench
