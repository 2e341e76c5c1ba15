// SPDX-License-Identifier: BSD-3-Clause
#include "engine/data/neighbors.hpp"

#include "engine/base/agreement.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace stoker::engine {
namespace {

bool has_repeated(std::vector<int> neighbors) {
  std::ranges::sort(neighbors);
  return std::ranges::adjacent_find(neighbors) != neighbors.end();
}

// The collectives whose blocks the MPI library hands over in the reverse order where a rank has two edges to itself.
// Local.
std::vector<algos::Collective> found_reversed(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group alone = MPI_GROUP_NULL;
  check_mpi(PMPI_Comm_group(comm, &all), "MPI_Comm_group");
  check_mpi(PMPI_Group_incl(all, 1, &rank, &alone), "MPI_Group_incl");
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm graph = MPI_COMM_NULL;
  const std::array to_itself{0, 0};
  check_mpi(PMPI_Comm_create_group(comm, alone, 0, &own), "MPI_Comm_create_group");
  check_mpi(PMPI_Dist_graph_create_adjacent(own, 2, to_itself.data(), MPI_UNWEIGHTED, 2, to_itself.data(),
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
            "MPI_Dist_graph_create_adjacent");
  std::vector<algos::Collective> reversed;
  const std::array sent{1, 2};
  const std::array counts{1, 1};
  const std::array places{0, 1};
  const std::array addresses{MPI_Aint{0}, MPI_Aint{sizeof(int)}};
  const std::array types{MPI_INT, MPI_INT};
  const auto look = [&](algos::Collective collective, auto call) {
    std::array received{0, 0};
    check_mpi(call(received.data()), "a neighborhood collective");
    if (received != sent) {
      reversed.push_back(collective);
    }
  };
  look(algos::Collective::neighbor_alltoall,
       [&](int* received) { return PMPI_Neighbor_alltoall(sent.data(), 1, MPI_INT, received, 1, MPI_INT, graph); });
  look(algos::Collective::neighbor_alltoallv, [&](int* received) {
    return PMPI_Neighbor_alltoallv(sent.data(), counts.data(), places.data(), MPI_INT, received, counts.data(),
                                   places.data(), MPI_INT, graph);
  });
  look(algos::Collective::neighbor_alltoallw, [&](int* received) {
    return PMPI_Neighbor_alltoallw(sent.data(), counts.data(), addresses.data(), types.data(), received, counts.data(),
                                   addresses.data(), types.data(), graph);
  });
  PMPI_Comm_free(&graph);
  PMPI_Comm_free(&own);
  PMPI_Group_free(&alone);
  PMPI_Group_free(&all);
  return reversed;
}

} // namespace

Neighbors neighbors_of(MPI_Comm comm) {
  Neighbors neighbors;
  int topology = MPI_UNDEFINED;
  check_mpi(PMPI_Topo_test(comm, &topology), "MPI_Topo_test");
  if (topology == MPI_CART) {
    int dimensions = 0;
    check_mpi(PMPI_Cartdim_get(comm, &dimensions), "MPI_Cartdim_get");
    for (int d = 0; d < dimensions; ++d) {
      int before = MPI_PROC_NULL;
      int after = MPI_PROC_NULL;
      check_mpi(PMPI_Cart_shift(comm, d, 1, &before, &after), "MPI_Cart_shift");
      const std::size_t i = neighbors.sources.size();
      neighbors.sources.insert(neighbors.sources.end(), {before, after});
      neighbors.arrival_order.insert(neighbors.arrival_order.end(), {i + 1, i});
    }
    neighbors.targets = neighbors.sources;
    return neighbors;
  }
  if (topology == MPI_GRAPH) {
    int rank = 0;
    int count = 0;
    PMPI_Comm_rank(comm, &rank);
    check_mpi(PMPI_Graph_neighbors_count(comm, rank, &count), "MPI_Graph_neighbors_count");
    neighbors.targets.resize(static_cast<std::size_t>(count));
    check_mpi(PMPI_Graph_neighbors(comm, rank, count, neighbors.targets.data()), "MPI_Graph_neighbors");
    neighbors.sources = neighbors.targets;
  } else if (topology == MPI_DIST_GRAPH) {
    int sources = 0;
    int targets = 0;
    int weighted = 0;
    check_mpi(PMPI_Dist_graph_neighbors_count(comm, &sources, &targets, &weighted), "MPI_Dist_graph_neighbors_count");
    neighbors.sources.resize(static_cast<std::size_t>(sources));
    neighbors.targets.resize(static_cast<std::size_t>(targets));
    std::vector<int> source_weights(neighbors.sources.size() +
                                    1); // MPICH asks for an address even where there are none
    std::vector<int> target_weights(neighbors.targets.size() + 1);
    check_mpi(PMPI_Dist_graph_neighbors(comm, sources, neighbors.sources.data(), source_weights.data(), targets,
                                        neighbors.targets.data(), target_weights.data()),
              "MPI_Dist_graph_neighbors");
  } else {
    throw Error(Code::argument, "comm has no topology; expected a communicator from MPI_Cart_create, MPI_Graph_create, "
                                "MPI_Dist_graph_create or MPI_Dist_graph_create_adjacent");
  }
  neighbors.arrival_order.resize(neighbors.sources.size());
  std::iota(neighbors.arrival_order.begin(), neighbors.arrival_order.end(), std::size_t{0});
  if (has_repeated(neighbors.sources)) {
    static const std::vector<algos::Collective> reversed = found_reversed(comm);
    neighbors.reversed = reversed;
  }
  return neighbors;
}

} // namespace stoker::engine
