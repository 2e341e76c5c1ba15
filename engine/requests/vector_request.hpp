// SPDX-License-Identifier: BSD-3-Clause
// Initialises the requests of reductions, broadcasts, gathers, scatters, scans and barriers: what each rank knows of the others'
// arguments, and the program of this rank.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/vector_arguments.hpp"
#include "engine/requests/init.hpp"
#include "engine/requests/request.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace stoker::engine {

// Of Pattern::distributed_vector. Collective over the communicator. Throws Error on every rank.
[[nodiscard]] std::unique_ptr<Request> make_vector_request(const std::shared_ptr<Engine>& engine,
                                                           algos::Collective collective,
                                                           const VectorArguments& arguments);

// Of the root, the settings, and info if that is not MPI_INFO_NULL. The plan has context and operation; it gets the algorithm if they
// name one. Throws Error(setting).
[[nodiscard]] Terms read_terms(Engine& engine, algos::Collective collective, const VectorArguments& arguments,
                               RequestPlan& plan);

// Whether reductions have to give the same bits in every run. Local. Throws Error(setting).
[[nodiscard]] bool is_deterministic(const Engine& engine, algos::Collective collective, MPI_Info info);

// Of a rank's buffers where all blocks lie one behind the other.
[[nodiscard]] BufferSizes packed_sizes(algos::Collective collective, const algos::DistributedVector& call);

// Like make_vector_request(), for the buffers that each epoch will bring, where all blocks lie one behind the other. The plan has context, operation,
// executor, whether it is in place, which ranks with a root never are, and perhaps an algorithm. `sizes`: see sizes_of().
[[nodiscard]] std::unique_ptr<Request> make_rebindable_vector_request(const std::shared_ptr<Engine>& engine,
                                                                      algos::Collective collective, RequestPlan plan,
                                                                      const Terms& terms,
                                                                      const std::vector<std::uint64_t>& sizes);

} // namespace stoker::engine
