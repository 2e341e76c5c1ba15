// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls that do not distinguish nodes.
#pragma once

#include "algos/collectives/exchange.hpp"
#include "algos/collectives/group_exchange.hpp"

namespace stoker::algos {

[[nodiscard]] Program compile_flat(const Exchange& exchange, FlatExchange how);

// Bruck's all-to-all as published, with a rotation of all blocks before and after: for comparison. Radix 2 without them
// is compile_flat with FlatExchange::Kind::radix.
[[nodiscard]] Program compile_bruck(const Exchange& exchange);

} // namespace stoker::algos
