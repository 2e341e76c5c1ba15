// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls in which every rank writes its blocks straight to their places in the other ranks' receive buffers.
#pragma once

#include "algos/collectives/exchange.hpp"
#include "algos/collectives/puts.hpp"

namespace stoker::algos {

[[nodiscard]] Program compile_rma(const Exchange& exchange, Opening opening, PutOrder order);

} // namespace stoker::algos
