// SPDX-License-Identifier: BSD-3-Clause
// A collective call of the application in one general form, whichever of MPI's functions it was.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stoker::pmpi {

enum class Family : std::uint8_t {
  allgather,
  allgatherv,
  allreduce,
  alltoall,
  alltoallv,
  alltoallw,
  barrier,
  bcast,
  exscan,
  gather,
  gatherv,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
  reduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  scatter,
  scatterv,
};
inline constexpr int family_count = 22;
[[nodiscard]] std::string_view name_of(Family family); // "allgather"

enum class Form : std::uint8_t { blocking, nonblocking, persistent };
inline constexpr int form_count = 3;
[[nodiscard]] std::string_view name_of(Form form);

// An array of int, or the array of the _c functions. Does not own it.
template <class Wide>
struct Numbers {
  Numbers() = default;
  // NOLINTBEGIN(google-explicit-constructor): in place of either
  Numbers(const int* values) : narrow(values) {}
  Numbers(const Wide* values) : wide(values) {}
  // NOLINTEND(google-explicit-constructor)
  Numbers(const int* narrow_values, const Wide* wide_values) : narrow(narrow_values), wide(wide_values) {}
  const int* narrow = nullptr;
  const Wide* wide = nullptr;
  [[nodiscard]] bool given() const { return narrow != nullptr || wide != nullptr; }
  [[nodiscard]] Wide operator[](std::size_t i) const { return narrow != nullptr ? Wide{narrow[i]} : wide[i]; }
};

// What a collective has not, or what is not significant at a rank, is left empty or not read. The buffer of bcast is recvbuf.
// Single counts are arrays of one.
struct CollectiveCall {
  Family family = Family::barrier;
  const void* sendbuf = nullptr;
  Numbers<MPI_Count> sendcounts{};
  Numbers<MPI_Aint> sdispls{};             // in extents; of the w-forms in bytes
  const MPI_Datatype* sendtypes = nullptr; // one; of the w-forms one for each block
  void* recvbuf = nullptr;
  Numbers<MPI_Count> recvcounts{}; // also the count of reductions and of bcast
  Numbers<MPI_Aint> rdispls{};
  const MPI_Datatype* recvtypes = nullptr; // also of reductions and bcast
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  const void* site = nullptr; // return address of the application's call
};

// How many counts there are: a single one, or one for each rank, or neighbor, of which there are so many. None at a rank where
// they are not significant.
struct CountsOf {
  std::size_t send = 0;
  std::size_t recv = 0;
};
struct Peers {
  std::size_t ranks = 0;
  std::size_t targets = 0;
  std::size_t sources = 0;
  bool at_root = false;
};
[[nodiscard]] CountsOf counts_of(Family family, const Peers& peers);
[[nodiscard]] constexpr bool is_neighborhood(Family family) {
  return family >= Family::neighbor_allgather && family <= Family::neighbor_alltoallw;
}
[[nodiscard]] constexpr bool combines(Family family) {
  return family == Family::allreduce || family == Family::exscan || family == Family::reduce ||
         family == Family::reduce_scatter || family == Family::reduce_scatter_block || family == Family::scan;
}

} // namespace stoker::pmpi
