// SPDX-License-Identifier: BSD-3-Clause
// What a caller passes to the init function of a reduction, broadcast, gather, scatter, scan or barrier, and what a rank can say
// about it without asking the others.
#pragma once

#include "algos/collectives/registry.hpp"
#include "engine/data/datatype.hpp"
#include "engine/data/operation.hpp"

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace stoker::engine {

// In the general form; what a collective has not, or what is not significant at a rank, is not read. Of bcast both buffers are
// the one buffer. Counts without displacements: one entry; those of reduce_scatter: one for each rank.
struct VectorArguments {
  const void* sendbuf = nullptr; // MPI_IN_PLACE where the collective allows that
  const MPI_Count* sendcounts = nullptr;
  const MPI_Aint* sdispls = nullptr; // in extents
  MPI_Datatype sendtype = MPI_DATATYPE_NULL;
  void* recvbuf = nullptr; // MPI_IN_PLACE at the root of scatter and scatterv
  const MPI_Count* recvcounts = nullptr;
  const MPI_Aint* rdispls = nullptr;
  MPI_Datatype recvtype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info info = MPI_INFO_NULL;
};

// Which buffers a rank has, as algos::DistributedVector numbers them, and what it knows of sizes, in bytes of the program.
struct VectorBuffers {
  UserBuffer send; // empty where a rank has none
  UserBuffer recv;
  bool in_place = false;
  Operation operation;
  // Of the vector, of any block, or of each rank's block; nothing at a rank that is not told.
  std::optional<std::vector<std::uint64_t>> sizes;
  std::optional<std::uint64_t> own; // of this rank's block, where it says that apart from `sizes`
};

// Throws Error(argument) that names the argument and what was expected; Error(unsupported) for operations.
[[nodiscard]] VectorBuffers checked_buffers(algos::Collective collective, const VectorArguments& arguments, int rank,
                                            int ranks);

// In bytes: of the vector, of each rank's block where all are equal, or of every block. At all ranks the same; not of gatherv and
// scatterv. Throws Error(mismatch).
[[nodiscard]] std::vector<std::uint64_t> sizes_of(const VectorBuffers& buffers);
// Whether there is one vector rather than a block for each rank.
[[nodiscard]] bool one_vector(algos::Collective collective);

} // namespace stoker::engine
