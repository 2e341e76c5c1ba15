// SPDX-License-Identifier: BSD-3-Clause
// Initialises all-to-all requests: what each rank knows of the others' sizes, and the program of this rank.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/requests/request.hpp"

#include <cstdint>
#include <memory>

namespace stoker::engine {

// Of Pattern::exchange: see init().
[[nodiscard]] std::unique_ptr<Request> init_exchange(const std::shared_ptr<Engine>& engine, const CollectiveCall& call,
                                                     MPI_Info info);

// For buffers that each epoch will bring, whose blocks of so many bytes lie one behind the other. Collective over the plan's
// context. The plan has executor, whether it is in place, and perhaps an algorithm. Throws Error on every rank.
[[nodiscard]] std::unique_ptr<Request> init_rebindable_alltoall(const std::shared_ptr<Engine>& engine, RequestPlan plan,
                                                                std::uint64_t bytes);
// Likewise, for blocks of any size: one message to and one from every other rank, and a copy, none of which waits for another.
// What an epoch brings it has to write into the block.
[[nodiscard]] std::unique_ptr<Request> init_any_exchange(const std::shared_ptr<Engine>& engine, RequestPlan plan);

} // namespace stoker::engine
