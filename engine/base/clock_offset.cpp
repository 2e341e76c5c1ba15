// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/clock_offset.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

namespace stoker::engine {
namespace {

constexpr int clock_tag = 2;

// Names the clock: each kernel has one, and each of its time namespaces another. Empty where that cannot be known.
std::string clock_identity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  if (boot.empty()) {
    return {};
  }
  std::error_code none;
  return boot + " " + std::filesystem::read_symlink("/proc/self/ns/time", none).string();
}

// Tells the rank the time for as long as it asks.
void answer(MPI_Comm comm, int rank) {
  for (;;) {
    int asks = 0;
    check_mpi(PMPI_Recv(&asks, 1, MPI_INT, rank, clock_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
    if (asks == 0) {
      return;
    }
    const std::uint64_t now = now_ns();
    check_mpi(PMPI_Send(&now, 1, MPI_UINT64_T, rank, clock_tag, comm), "MPI_Send");
  }
}

// The quickest answer is the best: rank 0 wrote it at some time between question and arrival.
std::int64_t measured_offset(MPI_Comm comm) {
  constexpr int questions = 20;
  constexpr int asks = 1;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::int64_t offset = 0;
  for (int i = 0; i < questions; ++i) {
    std::uint64_t there = 0;
    const std::uint64_t asked = now_ns();
    check_mpi(PMPI_Send(&asks, 1, MPI_INT, 0, clock_tag, comm), "MPI_Send");
    check_mpi(PMPI_Recv(&there, 1, MPI_UINT64_T, 0, clock_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
    const std::uint64_t took = now_ns() - asked;
    if (took < least) {
      least = took;
      offset = static_cast<std::int64_t>(there) - static_cast<std::int64_t>(asked + took / 2);
    }
  }
  return offset;
}

} // namespace

std::int64_t offset_to_rank_0(MPI_Comm comm) {
  const std::string mine = clock_identity();
  const bool differs = text_of_rank_0(comm, mine) != mine || mine.empty();
  if (rank_in(comm) != 0) {
    const std::int64_t offset = differs ? measured_offset(comm) : 0;
    constexpr int asks_no_more = 0;
    check_mpi(PMPI_Send(&asks_no_more, 1, MPI_INT, 0, clock_tag, comm), "MPI_Send");
    return offset;
  }
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  for (int rank = 1; rank < ranks; ++rank) {
    answer(comm, rank);
  }
  return 0;
}

} // namespace stoker::engine
