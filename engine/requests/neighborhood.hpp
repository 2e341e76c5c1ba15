// SPDX-License-Identifier: BSD-3-Clause
// Initialises requests of neighborhood collectives: what each rank knows of the others' blocks, and the program of this
// rank.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/requests/request.hpp"

#include <memory>

namespace stoker::engine {

// init() for collectives of Pattern::neighborhood. `plan` has the context; `begin_ns`: when init began.
[[nodiscard]] std::unique_ptr<Request> init_neighborhood(const std::shared_ptr<Engine>& engine,
                                                         const CollectiveCall& call, MPI_Info info, RequestPlan plan,
                                                         std::uint64_t begin_ns);

} // namespace stoker::engine
