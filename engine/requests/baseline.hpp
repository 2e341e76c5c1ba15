// SPDX-License-Identifier: BSD-3-Clause
// What the MPI library's own collective takes, to say from how many starts on a persistent request has paid for its init.
#pragma once

#include "algos/collectives/registry.hpp"
#include "engine/core/comm_context.hpp"
#include "engine/data/datatype.hpp"

namespace stoker::engine {

// Of an all-to-all. Seconds of one blocking call on the slowest rank, median of `calls`, with blocks of the sizes of those in `send` and `recv` in
// buffers of its own. In place, `send` is not read. Collective. 0 where a rank's blocks are beyond what the call can count.
[[nodiscard]] double mpi_seconds(const CommContext& context, algos::Collective collective, const UserBuffer& send,
                                 const UserBuffer& recv, bool in_place, int calls);

} // namespace stoker::engine
