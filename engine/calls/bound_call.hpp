// SPDX-License-Identifier: BSD-3-Clause
// The buffers of one call as a rebindable request takes them.
#pragma once

#include "engine/core/comm_context.hpp"
#include "engine/data/arguments.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/requests/epoch_binding.hpp"

namespace stoker::engine {

// The buffers of a call whose sizes all ranks know, and whose arguments are checked.
[[nodiscard]] EpochBuffers bound_buffers(const CollectiveCall& call, CallBuffers buffers, int rank);

// The buffers of a call whose blocks go straight from rank to rank. `neighbors`: for a neighborhood collective. Throws
// Error(argument) for what is wrong with this rank's arguments.
[[nodiscard]] EpochBuffers bound_blocks(const CollectiveCall& call, const CommContext& context,
                                        const Neighbors* neighbors);

} // namespace stoker::engine
