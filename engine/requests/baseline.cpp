// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/baseline.hpp"

#include "engine/base/agreement.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <new>
#include <vector>

namespace stoker::engine {
namespace {

// Blocks one behind the other, as bytes: how elements are packed is not what is measured.
struct Side {
  explicit Side(const UserBuffer& buffer) {
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

int call(algos::Collective collective, Side& send, Side& recv, MPI_Comm comm) {
  const int out = send.counts.empty() ? 0 : send.counts.front();
  const int in = recv.counts.empty() ? 0 : recv.counts.front();
  if (collective == algos::Collective::alltoall) {
    return MPI_Alltoall(send.bytes.data(), out, MPI_BYTE, recv.bytes.data(), in, MPI_BYTE, comm);
  }
  if (collective == algos::Collective::alltoallv) {
    return MPI_Alltoallv(send.bytes.data(), send.counts.data(), send.displacements.data(), MPI_BYTE, recv.bytes.data(),
                         recv.counts.data(), recv.displacements.data(), MPI_BYTE, comm);
  }
  // Ends without a neighbor are empty here, which only the call with counts allows.
  return MPI_Neighbor_alltoallv(send.bytes.data(), send.counts.data(), send.displacements.data(), MPI_BYTE,
                                recv.bytes.data(), recv.counts.data(), recv.displacements.data(), MPI_BYTE, comm);
}

} // namespace

double mpi_seconds(const CommContext& context, algos::Collective collective, const UserBuffer& send,
                   const UserBuffer& recv, bool in_place, int calls) {
  const MPI_Comm comm = context.comm();
  Side to(in_place ? recv : send);
  Side from(recv);
  int fits = to.fits && from.fits ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  if (fits == 0) {
    return 0;
  }
  std::vector<double> seconds;
  for (int i = -1; i < calls; ++i) { // the first one warms up
    check_mpi(MPI_Barrier(comm), "MPI_Barrier");
    const double begin = MPI_Wtime();
    check_mpi(call(collective, to, from, comm), "the MPI library's own collective");
    if (i >= 0) {
      seconds.push_back(MPI_Wtime() - begin);
    }
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, seconds.data(), calls, MPI_DOUBLE, MPI_MAX, comm), "MPI_Allreduce");
  std::ranges::nth_element(seconds, seconds.begin() + calls / 2);
  return seconds[static_cast<std::size_t>(calls / 2)];
}

} // namespace stoker::engine
