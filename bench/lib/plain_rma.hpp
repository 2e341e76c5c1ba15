// SPDX-License-Identifier: BSD-3-Clause
// The persistent all-to-alls over MPI's one-sided communication as "Analyzing Persistent Alltoallv RMA Implementations
// for High-Performance MPI Communication" (Namugwanya, 2026) gives them, Algorithms 1 to 3, in MPI calls and nothing
// else: the peers of stoker's rma algorithms.
#pragma once

#include "bench/lib/operation.hpp"

#include <array>
#include <memory>

namespace stoker::bench {

enum class PlainRma { fence, lock, fence_hierarchy };
inline constexpr std::array plain_rma_forms = {PlainRma::fence, PlainRma::lock, PlainRma::fence_hierarchy};

// Creates a window over the receive buffer, which is part of the init. Throws on all ranks where the library has none.
// Collective.
std::unique_ptr<Operation> plain_rma(const Exchange& exchange, PlainRma form);

} // namespace stoker::bench
