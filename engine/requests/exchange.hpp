// SPDX-License-Identifier: BSD-3-Clause
// Initialises all-to-all requests: what each rank knows of the others' sizes, and the program of this rank.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/requests/request.hpp"

#include <cstdint>
#include <memory>

namespace stoker::engine {

// init() for collectives of Pattern::exchange. `plan` has the context; `begin_ns`: when init began.
[[nodiscard]] std::unique_ptr<Request> init_exchange(const std::shared_ptr<Engine>& engine, const CollectiveCall& call,
                                                     MPI_Info info, RequestPlan plan, std::uint64_t begin_ns);

// A rebindable alltoall: each epoch brings its buffers, in which blocks of `bytes` lie one behind the other. Collective
// over the plan's context. The plan says the executor, whether it is in place, and perhaps an algorithm. Throws Error
// on every rank.
[[nodiscard]] std::unique_ptr<Request> init_rebindable_alltoall(const std::shared_ptr<Engine>& engine, RequestPlan plan,
                                                                std::uint64_t bytes);
// The same for blocks of any size: one message to and one from every other rank, and a copy, none of which waits for
// another. Each epoch has to write its sizes into the block.
[[nodiscard]] std::unique_ptr<Request> init_any_exchange(const std::shared_ptr<Engine>& engine, RequestPlan plan);

} // namespace stoker::engine
