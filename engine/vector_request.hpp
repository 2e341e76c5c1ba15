// SPDX-License-Identifier: BSD-3-Clause
// Initialises the requests of reductions, broadcasts, gathers, scatters, scans and barriers: what each rank knows of the others'
// arguments, and the program of this rank.
#pragma once

#include "engine/engine.hpp"
#include "engine/request.hpp"
#include "engine/vector_arguments.hpp"

#include <memory>

namespace stoker::engine {

// One of the collectives of algos::is_vector_call(). Collective over the communicator. Throws Error on every rank.
[[nodiscard]] std::unique_ptr<Request> make_vector_request(const std::shared_ptr<Engine>& engine,
                                                           algos::Collective collective,
                                                           const VectorArguments& arguments);

} // namespace stoker::engine
