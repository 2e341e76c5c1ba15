// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/registry.hpp"

#include "algos/collectives/registry_rows.hpp"

#include <algorithm>
#include <vector>

namespace stoker::algos {

std::string_view name_of(Collective collective) {
  switch (collective) {
  case Collective::alltoall:
    return "alltoall";
  case Collective::alltoallv:
    return "alltoallv";
  case Collective::neighbor_alltoall:
    return "neighbor_alltoall";
  case Collective::neighbor_alltoallv:
    return "neighbor_alltoallv";
  case Collective::allreduce:
    return "allreduce";
  case Collective::reduce:
    return "reduce";
  case Collective::bcast:
    return "bcast";
  case Collective::reduce_scatter:
    return "reduce_scatter";
  case Collective::reduce_scatter_block:
    return "reduce_scatter_block";
  case Collective::allgather:
    return "allgather";
  case Collective::allgatherv:
    return "allgatherv";
  case Collective::gather:
    return "gather";
  case Collective::gatherv:
    return "gatherv";
  case Collective::scatter:
    return "scatter";
  case Collective::scatterv:
    return "scatterv";
  case Collective::barrier:
    return "barrier";
  case Collective::scan:
    return "scan";
  case Collective::exscan:
    return "exscan";
  }
  return "unknown collective";
}

std::optional<Collective> find_collective(std::string_view name) {
  for (std::size_t c = 0; c < collective_count; ++c) {
    if (name_of(static_cast<Collective>(c)) == name) {
      return static_cast<Collective>(c);
    }
  }
  return std::nullopt;
}

std::span<const Algorithm> registry() {
  static const std::vector<Algorithm> rows = [] {
    std::vector<Algorithm> all(alltoall_rows().begin(), alltoall_rows().end());
    all.insert(all.end(), vector_rows().begin(), vector_rows().end());
    return all;
  }();
  return rows;
}

std::span<const Algorithm> algorithms_of(Collective collective) {
  const auto rows = std::ranges::equal_range(registry(), collective, {}, &Algorithm::collective);
  return {rows.begin(), rows.end()};
}

const Algorithm* find(Collective collective, std::string_view name) {
  const auto rows = algorithms_of(collective);
  const auto row = std::ranges::find(rows, name, &Algorithm::name);
  return row == rows.end() ? nullptr : &*row;
}

} // namespace stoker::algos
