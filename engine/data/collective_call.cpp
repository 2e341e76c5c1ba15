// SPDX-License-Identifier: BSD-3-Clause
#include "engine/data/collective_call.hpp"

namespace stoker::engine {

using algos::BufferTraits;
using algos::Number;

bool looks_at_neighbors(algos::Collective collective, MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  if (collective == algos::Collective::alltoallw) {
    PMPI_Topo_test(comm, &topology);
  }
  return pattern_of(collective) == algos::Pattern::neighborhood || topology != MPI_UNDEFINED;
}

Peers peers_of(const CollectiveCall& call, MPI_Comm comm) {
  int inter = 0;
  int size = 0;
  int rank = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_size(comm, &size);
  PMPI_Comm_rank(comm, &rank);
  Peers peers;
  peers.at_root = inter != 0 ? call.root == MPI_ROOT : call.root == rank;
  if (inter != 0 && call.collective != algos::Collective::reduce_scatter) {
    PMPI_Comm_remote_size(comm, &size);
  }
  peers.ranks = static_cast<std::size_t>(size);
  if (looks_at_neighbors(call.collective, comm)) {
    const Neighbors neighbors = neighbors_of(comm);
    peers.targets = neighbors.targets.size();
    peers.sources = neighbors.sources.size();
  }
  return peers;
}

Significant significant(const CollectiveCall& call, const Peers& peers) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  const bool neighborhood = traits.pattern == algos::Pattern::neighborhood;
  const auto entries = [&](const BufferTraits& buffer, std::size_t neighbors) -> std::size_t {
    switch (buffer.counts) {
    case Number::none:
      return 0;
    case Number::one:
      return 1;
    case Number::each:
      return buffer.root_only && !peers.at_root ? 0 : neighborhood ? neighbors : peers.ranks;
    }
    return 0;
  };
  Significant result;
  result.send = call.sendbuf != MPI_IN_PLACE && (!traits.send.root_only || peers.at_root);
  result.recv = call.recvbuf != MPI_IN_PLACE && (!traits.recv.root_only || peers.at_root);
  const bool sends_in_place = call.sendbuf == MPI_IN_PLACE && traits.send.counts == Number::each;
  result.sendcounts = sends_in_place ? 0 : entries(traits.send, peers.targets);
  result.recvcounts = entries(traits.recv, peers.sources);
  result.sendtypes = traits.own_types ? result.sendcounts : 1;
  result.recvtypes = traits.own_types ? result.recvcounts : 1;
  return result;
}

} // namespace stoker::engine
