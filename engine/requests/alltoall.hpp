// SPDX-License-Identifier: BSD-3-Clause
// Initialises all-to-all requests: what each rank knows of the others' sizes, and the program of this rank.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/arguments.hpp"
#include "engine/requests/request.hpp"

#include <cstdint>
#include <memory>

namespace stoker::engine {

// alltoall or alltoallv; the arrays hold one entry per rank of the communicator. Collective over it. Throws Error on
// every rank.
[[nodiscard]] std::unique_ptr<Request> make_alltoall(const std::shared_ptr<Engine>& engine,
                                                     algos::Collective collective, const ExchangeArguments& arguments);

// A rebindable alltoall: each epoch brings its buffers, in which blocks of `bytes` lie one behind the other. Collective
// over the plan's context. The plan says the executor, whether it is in place, and perhaps an algorithm. Throws Error
// on every rank.
[[nodiscard]] std::unique_ptr<Request> make_rebindable_alltoall(const std::shared_ptr<Engine>& engine, RequestPlan plan,
                                                                std::uint64_t bytes);
// The same for blocks of any size: one message to and one from every other rank, and a copy, none of which waits for
// another. Each epoch has to write its sizes into the block.
[[nodiscard]] std::unique_ptr<Request> make_any_exchange(const std::shared_ptr<Engine>& engine, RequestPlan plan);

} // namespace stoker::engine
