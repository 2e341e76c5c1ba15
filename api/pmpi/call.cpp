// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/call.hpp"

#include <array>

namespace stoker::pmpi {

std::string_view name_of(Family family) {
  static constexpr std::array<std::string_view, family_count> names{"allgather",
                                                                    "allgatherv",
                                                                    "allreduce",
                                                                    "alltoall",
                                                                    "alltoallv",
                                                                    "alltoallw",
                                                                    "barrier",
                                                                    "bcast",
                                                                    "exscan",
                                                                    "gather",
                                                                    "gatherv",
                                                                    "neighbor_allgather",
                                                                    "neighbor_allgatherv",
                                                                    "neighbor_alltoall",
                                                                    "neighbor_alltoallv",
                                                                    "neighbor_alltoallw",
                                                                    "reduce",
                                                                    "reduce_scatter",
                                                                    "reduce_scatter_block",
                                                                    "scan",
                                                                    "scatter",
                                                                    "scatterv"};
  return names[static_cast<std::size_t>(family)];
}

std::string_view name_of(Form form) {
  static constexpr std::array<std::string_view, form_count> names{"blocking", "nonblocking", "persistent"};
  return names[static_cast<std::size_t>(form)];
}

CountsOf counts_of(Family family, const Peers& peers) {
  switch (family) {
  case Family::barrier:
    return {0, 0};
  case Family::allreduce:
  case Family::bcast:
  case Family::exscan:
  case Family::reduce:
  case Family::reduce_scatter_block:
  case Family::scan:
    return {0, 1};
  case Family::reduce_scatter:
    return {0, peers.ranks};
  case Family::allgather:
  case Family::alltoall:
  case Family::gather:
  case Family::neighbor_allgather:
  case Family::neighbor_alltoall:
  case Family::scatter:
    return {1, 1};
  case Family::allgatherv:
    return {1, peers.ranks};
  case Family::alltoallv:
  case Family::alltoallw:
    return {peers.ranks, peers.ranks};
  case Family::gatherv:
    return {1, peers.at_root ? peers.ranks : 0};
  case Family::scatterv:
    return {peers.at_root ? peers.ranks : 0, 1};
  case Family::neighbor_allgatherv:
    return {1, peers.sources};
  case Family::neighbor_alltoallv:
  case Family::neighbor_alltoallw:
    return {peers.targets, peers.sources};
  }
  return {};
}

} // namespace stoker::pmpi
