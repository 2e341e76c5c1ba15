// SPDX-License-Identifier: BSD-3-Clause
// The time of the MPI library's own collective, from which statistics say after how many starts a persistent request
// has paid for its init.
#pragma once

#include "algos/collectives/registry.hpp"
#include "engine/core/comm_context.hpp"
#include "engine/data/datatype.hpp"

namespace stoker::engine {

// Seconds of one blocking all-to-all on the slowest rank, the median of `calls`. Its blocks have the sizes of those in
// `send` and `recv`, in buffers of its own. In place, `send` is not read. Returns 0 if a rank's blocks are larger than
// the call can count. Collective.
[[nodiscard]] double mpi_seconds(const CommContext& context, algos::Collective collective, const UserBuffer& send,
                                 const UserBuffer& recv, bool in_place, int calls);

} // namespace stoker::engine
