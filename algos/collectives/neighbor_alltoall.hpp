// SPDX-License-Identifier: BSD-3-Clause
// Neighborhood all-to-alls.
#pragma once

#include "algos/collectives/neighbor_exchange.hpp"

namespace stoker::algos {

// A message for each block, all at once.
[[nodiscard]] Program compile_neighbor_direct(const NeighborExchange& exchange);

// One message between any two nodes, with every byte in it once, however many ranks of the node need it. Reads the
// neighborhoods of the whole node.
[[nodiscard]] Program compile_neighbor_locality_aware(const NeighborExchange& exchange);

} // namespace stoker::algos
