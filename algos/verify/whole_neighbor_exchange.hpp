// SPDX-License-Identifier: BSD-3-Clause
// A neighborhood exchange as all its ranks together see it: what the verifier, the accounting and the printing of whole
// schedules start from.
#pragma once

#include "algos/select/choice.hpp"
#include "algos/verify/verifier.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace stoker::algos {

// The points of a grid, but 2^31 where there are more: so many ranks there are not. Throws std::invalid_argument for
// dimensions below 1.
[[nodiscard]] std::int64_t grid_points(std::span<const int> dimensions);

struct WholeNeighborExchange {
  // One block from source to target; offset in bytes in the source's sendbuf, where blocks may overlap.
  struct Edge {
    int source = 0;
    int target = 0;
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;
  };

  topology::Layout layout;
  std::vector<Neighborhood> ranks;

  // Each rank's lists are in the order of the edges; blocks lie in recvbuf in that order, each `gap` bytes behind the
  // one before.
  WholeNeighborExchange(topology::Layout layout, std::span<const Edge> edges, std::uint64_t gap = 0);
  // Blocks of `bytes` to the neighbors on a periodic grid, the last dimension varying fastest as in MPI_Cart_create.
  // The grid must have as many points as the layout has ranks, else throws std::invalid_argument.
  static WholeNeighborExchange grid(topology::Layout layout, std::span<const int> dimensions, std::uint64_t bytes);

  // The program of each rank, which gets to see the neighborhoods that the algorithm says it needs, and no others.
  [[nodiscard]] std::vector<Program> compile(const Choice& choice) const;
  // The same one by one. Not to be called after this exchange is gone.
  [[nodiscard]] std::function<Program(int rank)> program_of(const Choice& choice) const;
  // The contents of each rank's buffers: before the exchange, and as they must be after it.
  [[nodiscard]] std::vector<Contents> contents() const;
};

} // namespace stoker::algos
