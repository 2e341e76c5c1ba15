// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls in which every rank writes its blocks straight to their places in the other ranks' receive buffers.
#pragma once

#include "algos/collectives/exchange.hpp"

namespace stoker::algos {

// How a rank learns that it may write to another one: by a fence among all ranks; or from each target by itself, as
// from a lock that the target holds until it has started. Both end with a fence.
enum class Opening : std::uint8_t { fence, lock };
// The order of the puts: that of the ranks, or those to other nodes first.
enum class PutOrder : std::uint8_t { ranks, remote_first };

[[nodiscard]] Program compile_rma(const Exchange& exchange, Opening opening, PutOrder order);

} // namespace stoker::algos
