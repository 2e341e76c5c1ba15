// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests.
#pragma once

#include "engine/core/engine.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/requests/request.hpp"

#include <mpi.h>

#include <memory>

namespace stoker::engine {

// Collective over call.comm. The arguments are read here only; buffers, and an operation of the application's, must
// outlive the request. Throws Error on every rank.
[[nodiscard]] std::unique_ptr<Request> init(const std::shared_ptr<Engine>& engine, const CollectiveCall& call,
                                            MPI_Info info);

} // namespace stoker::engine
