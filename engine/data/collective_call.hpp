// SPDX-License-Identifier: BSD-3-Clause
// A collective call with its arguments, in one form for all of MPI's functions: blocking, nonblocking and persistent
// ones, with int and with large counts.
#pragma once

#include "algos/collectives/collective.hpp"
#include "engine/data/neighbors.hpp"
#include "engine/device/device_memory.hpp"

#include <mpi.h>

#include <cstddef>

namespace stoker::engine {

// An array of int, or the array of the _c functions. Does not own it.
template <class Wide>
struct Numbers {
  Numbers() = default;
  // NOLINTBEGIN(google-explicit-constructor): stands for either array, in both directions
  Numbers(const int* values) : narrow(values) {}
  Numbers(const Wide* values) : wide(values) {}
  operator const int*() const { return narrow; }
  operator const Wide*() const { return wide; }
  // NOLINTEND(google-explicit-constructor)
  const int* narrow = nullptr;
  const Wide* wide = nullptr;
  [[nodiscard]] bool given() const { return narrow != nullptr || wide != nullptr; }
  [[nodiscard]] Wide at(std::size_t i) const { return narrow != nullptr ? Wide{narrow[i]} : wide[i]; }
};

// Arguments that a collective lacks, or that a rank's MPI call does not look at, are left empty, or not read.
struct CollectiveCall {
  algos::Collective collective = algos::Collective::barrier;
  const void* sendbuf = nullptr;           // MPI_IN_PLACE where the collective allows that
  Numbers<MPI_Count> sendcounts{};         // a single count: an array of one
  Numbers<MPI_Aint> sdispls{};             // in extents; in bytes where every block has its own type
  const MPI_Datatype* sendtypes = nullptr; // one, or one for each block
  void* recvbuf = nullptr;                 // the buffer of bcast; MPI_IN_PLACE at the root of scatter and scatterv
  Numbers<MPI_Count> recvcounts{};         // also the counts of reductions and of bcast
  Numbers<MPI_Aint> rdispls{};
  const MPI_Datatype* recvtypes = nullptr; // also of reductions and bcast
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MemoryKinds memory = MemoryKinds::any; // of all buffers
  const void* site = nullptr;            // return address of the application's call, for statistics
  [[nodiscard]] bool in_place() const { return sendbuf == MPI_IN_PLACE || recvbuf == MPI_IN_PLACE; }
};

// Whose blocks the buffers of a call hold, as one rank sees it.
struct Peers {
  std::size_t ranks = 0;
  std::size_t targets = 0; // where MPI looks at neighbors
  std::size_t sources = 0;
  bool at_root = false;
};
// Whether MPI looks at the neighbors that the topology of `comm` gives a rank. Open MPI 4.1 does so in MPI_Ialltoallw,
// too: it retains as many datatypes as there are neighbors, whatever the number of ranks.
[[nodiscard]] bool looks_at_neighbors(algos::Collective collective, MPI_Comm comm);
// Local. Throws Error(argument) for a neighborhood collective on a communicator without topology.
[[nodiscard]] Peers peers_of(const CollectiveCall& call, MPI_Comm comm);

// The arguments that MPI reads at this rank.
struct Significant {
  std::size_t sendcounts = 0; // entries in the arrays of counts
  std::size_t recvcounts = 0;
  std::size_t sendtypes = 0; // and of datatypes
  std::size_t recvtypes = 0;
  bool send = true; // whether the buffer and its datatypes are looked at
  bool recv = true;
};
[[nodiscard]] Significant significant(const CollectiveCall& call, const Peers& peers);

} // namespace stoker::engine
