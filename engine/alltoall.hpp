// SPDX-License-Identifier: BSD-3-Clause
// Initialises all-to-all requests: checks the arguments, exchanges what the algorithm needs to know, compiles this rank's
// program and places it.
#pragma once

#include "engine/datatype.hpp"
#include "engine/engine.hpp"
#include "engine/request.hpp"

#include <mpi.h>

#include <memory>

namespace stoker::engine {

// Both collectives in the general form. Arrays hold one entry per rank of comm; alltoall has equal ones.
struct AlltoallArguments {
  algos::Collective collective = algos::Collective::alltoall;
  const void* sendbuf = nullptr; // may be MPI_IN_PLACE
  const MPI_Count* sendcounts = nullptr;
  const MPI_Aint* sdispls = nullptr; // in extents
  MPI_Datatype sendtype = MPI_DATATYPE_NULL;
  void* recvbuf = nullptr;
  const MPI_Count* recvcounts = nullptr;
  const MPI_Aint* rdispls = nullptr;
  MPI_Datatype recvtype = MPI_DATATYPE_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info info = MPI_INFO_NULL;
};

// Collective over arguments.comm. Throws Error on every rank.
[[nodiscard]] std::unique_ptr<Request> make_alltoall(const std::shared_ptr<Engine>& engine,
                                                     const AlltoallArguments& arguments);

} // namespace stoker::engine
