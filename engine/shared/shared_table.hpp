// SPDX-License-Identifier: BSD-3-Clause
// Bytes that all ranks of a node need and none changes, once for all of them: in a sealed segment, to which nobody can
// write. Tables with an entry for each rank of a communicator are such.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>

namespace stoker::engine {

// Collective over the ranks of a node, which all have the same bytes. Null on all ranks where one cannot have them so:
// then each keeps its own.
[[nodiscard]] std::shared_ptr<const std::byte> shared_table(MPI_Comm node, std::span<const std::byte> bytes);

} // namespace stoker::engine
