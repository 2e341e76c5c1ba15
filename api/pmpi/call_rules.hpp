// SPDX-License-Identifier: BSD-3-Clause
// What the arguments of a call alone say of whether the engine takes it. Equal on all ranks.
#pragma once

#include "api/pmpi/state.hpp"
#include "engine/data/collective_call.hpp"

#include <mpi.h>

#include <cstdint>
#include <optional>

namespace stoker::pmpi {

using engine::CollectiveCall;

// A rank's place in the communicator of a call.
struct Place {
  int ranks = 0;
  int rank = 0;
};

// The bytes of all blocks, if every rank knows that; the same on all ranks.
[[nodiscard]] std::optional<std::uint64_t> known_bytes(const CollectiveCall& call, const Place& place);
// Whether MPI will refuse the call on this rank, before it communicates. Its errors are those that the application
// expects.
[[nodiscard]] bool is_mistake(const CollectiveCall& call, const Place& place);
// Whether MPI's operator is one that the engine does not know for this datatype. MPI libraries combine more than the
// standard demands, MPI_CHAR for example.
[[nodiscard]] bool is_combined_by_mpi(const CollectiveCall& call);
// Why the call is left to the MPI library, whatever its communicator.
[[nodiscard]] std::optional<Reason> reason_in(const CollectiveCall& call, const Place& place);
// Whether calls of so few bytes may become the engine's. Vectors' sizes would take as long to compare as the call.
[[nodiscard]] bool may_be_small(Collective collective, std::uint64_t bytes);

} // namespace stoker::pmpi
