// SPDX-License-Identifier: BSD-3-Clause
// Initialises the requests of reductions, broadcasts, gathers, scatters, scans and barriers: what each rank knows of
// the others' arguments, and the program of this rank.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/requests/request.hpp"
#include "engine/wisdom/recall.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace stoker::engine {

// init() for collectives of Pattern::distributed_vector. `plan` has the context; `begin_ns`: when init began.
[[nodiscard]] std::unique_ptr<Request> init_distributed_vector(const std::shared_ptr<Engine>& engine,
                                                               const CollectiveCall& call, MPI_Info info,
                                                               RequestPlan plan, std::uint64_t begin_ns);

// The sizes of a rank's buffers in which all blocks lie one behind the other.
[[nodiscard]] BufferSizes packed_sizes(algos::Collective collective, const algos::DistributedVector& vector);

// Likewise, for the buffers that each epoch will bring, where all blocks lie one behind the other. The plan has
// context, operation, executor, root, whether it is deterministic, and in place, which ranks with a root never are, and
// perhaps an algorithm. `sizes`: see sizes_of().
[[nodiscard]] std::unique_ptr<Request> init_rebindable_distributed_vector(const std::shared_ptr<Engine>& engine,
                                                                          algos::Collective collective,
                                                                          RequestPlan plan,
                                                                          const std::vector<std::uint64_t>& sizes);

} // namespace stoker::engine
