// SPDX-License-Identifier: BSD-3-Clause
// Initialises all-to-all requests: what each rank knows of the others' sizes, and the program of this rank.
#pragma once

#include "engine/arguments.hpp"
#include "engine/engine.hpp"
#include "engine/request.hpp"

#include <memory>

namespace stoker::engine {

// alltoall or alltoallv; the arrays hold one entry per rank of the communicator. Collective over it. Throws Error on every
// rank.
[[nodiscard]] std::unique_ptr<Request> make_alltoall(const std::shared_ptr<Engine>& engine,
                                                     algos::Collective collective, const ExchangeArguments& arguments);

} // namespace stoker::engine
