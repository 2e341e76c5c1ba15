// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/baseline.hpp"

#include "engine/base/agreement.hpp"
#include "engine/data/mpi_collectives.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <new>
#include <vector>

namespace stoker::engine {
namespace {

// Blocks one behind the other, as bytes: how elements are packed is not what is measured.
struct PackedBlocks {
  explicit PackedBlocks(const UserBuffer& buffer) {
    for (std::size_t i = 0; i < buffer.blocks().size(); ++i) {
      const std::uint64_t size = buffer.block_bytes(i);
      fits = fits && total + size <= INT_MAX;
      counts.push_back(fits ? static_cast<int>(size) : 0);
      displacements.push_back(fits ? static_cast<int>(total) : 0);
      total += size;
    }
    try {
      bytes.resize(fits ? total : 0);
    } catch (const std::bad_alloc&) {
      fits = false;
    }
  }
  std::vector<int> counts, displacements;
  std::vector<std::byte> bytes;
  std::uint64_t total = 0;
  bool fits = true;
};

} // namespace

double mpi_seconds(const CommContext& context, algos::Collective collective, const UserBuffer& send,
                   const UserBuffer& recv, bool in_place, int calls) {
  const MPI_Comm comm = context.comm();
  PackedBlocks to(in_place ? recv : send);
  PackedBlocks from(recv);
  if (!on_all(comm, to.fits && from.fits)) {
    return 0;
  }
  // Ends without a neighbor are empty here, which only the call with counts allows.
  const algos::Collective counted =
      pattern_of(collective) == algos::Pattern::neighborhood ? algos::Collective::neighbor_alltoallv : collective;
  const MPI_Datatype byte = MPI_BYTE;
  const CollectiveCall call{.collective = counted,
                            .sendbuf = to.bytes.data(),
                            .sendcounts = to.counts.data(),
                            .sdispls = to.displacements.data(),
                            .sendtypes = &byte,
                            .recvbuf = from.bytes.data(),
                            .recvcounts = from.counts.data(),
                            .rdispls = from.displacements.data(),
                            .recvtypes = &byte};
  std::vector<double> seconds;
  for (int i = -1; i < calls; ++i) { // the first one warms up
    check_mpi(PMPI_Barrier(comm), "MPI_Barrier");
    const double begin = PMPI_Wtime();
    check_mpi(call_mpi(call, comm), "the MPI library's own collective");
    if (i >= 0) {
      seconds.push_back(PMPI_Wtime() - begin);
    }
  }
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, seconds.data(), calls, MPI_DOUBLE, MPI_MAX, comm), "MPI_Allreduce");
  std::ranges::nth_element(seconds, seconds.begin() + calls / 2);
  return seconds[static_cast<std::size_t>(calls / 2)];
}

} // namespace stoker::engine
