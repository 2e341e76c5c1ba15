// SPDX-License-Identifier: BSD-3-Clause
// One row per algorithm. The functions are declared in algorithms.hpp and stand in the file of their name.
#include "algos/registry.hpp"

#include "algos/algorithms.hpp"

#include <algorithm>
#include <array>

namespace stoker::algos {

namespace {

constexpr std::string_view kinkead = "Kinkead et al., Scaling All-to-all Operations Across Emerging Many-Core "
                                     "Supercomputers, 2025";

constexpr std::array algorithms = {
    Algorithm{Collective::alltoall, "nonblocking", Knowledge::own, "every pair directly, all messages at once", kinkead,
              compile_nonblocking},
    Algorithm{Collective::alltoall, "hierarchical", Knowledge::node,
              "one leader per node; one message between each two nodes", kinkead, compile_hierarchical},
    Algorithm{Collective::alltoallv, "nonblocking", Knowledge::own, "every pair directly, all messages at once",
              kinkead, compile_nonblocking},
    Algorithm{Collective::alltoallv, "hierarchical", Knowledge::node,
              "one leader per node; one message between each two nodes", kinkead, compile_hierarchical},
};

} // namespace

std::string_view name_of(Collective collective) {
  switch (collective) {
  case Collective::alltoall:
    return "alltoall";
  case Collective::alltoallv:
    return "alltoallv";
  }
  return "unknown collective";
}

std::span<const Algorithm> registry() { return algorithms; }

const Algorithm* find(Collective collective, std::string_view name) {
  const auto* row = std::find_if(algorithms.begin(), algorithms.end(), [&](const Algorithm& algorithm) {
    return algorithm.collective == collective && algorithm.name == name;
  });
  return row == algorithms.end() ? nullptr : row;
}

} // namespace stoker::algos
