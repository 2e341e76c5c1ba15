// SPDX-License-Identifier: BSD-3-Clause
// What a caller, the settings or a tuning file choose for a request, and what its ranks must agree on.
#pragma once

#include "algos/select/choice.hpp"
#include "engine/core/engine.hpp"
#include "engine/requests/request.hpp"

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace stoker::engine {

// The value of a key of `info`, which may be MPI_INFO_NULL.
[[nodiscard]] std::optional<std::string> info_value(MPI_Info info, const char* key);

// What `info` asserts of the memory of buffers (MPI-4.1's mpi_assert_memory_alloc_kinds), else `otherwise`.
// Local: ranks may differ.
[[nodiscard]] MemoryKinds asserted_kinds(MPI_Info info, MemoryKinds otherwise);

// Throw Error(setting), or Error(unsupported) where helpers are demanded and there are none, or the operation is
// user-defined.
[[nodiscard]] Executor chosen_executor(const Engine& engine, MPI_Info info);
[[nodiscard]] Executor chosen_executor(const Engine& engine, const Operation& operation, MPI_Info info);

// Whether reductions have to give the same bits in every run. Local. Throws Error(setting).
[[nodiscard]] bool is_deterministic(const Engine& engine, algos::Collective collective, MPI_Info info);

// Local: the plan's algorithm by info key or else the effective setting, none if it is to be selected; whether it is
// deterministic; how many starts are announced. A number in a setting that is too large for the communicator is
// adapted, with a warning the first time. A list of factors that does not fit throws Error(setting), as all of an info
// key's does; under the drop-in library the default takes its place (Misfits). The plan has context and operation.
//
// For each request the first of these that names an algorithm counts: choose(), take_tuned(), default_choice().
void choose(Engine& engine, algos::Collective collective, MPI_Info info, RequestPlan& plan);

// Local, with the same result on all ranks of an agreed plan, which has no algorithm yet: that of the tuning file for
// calls of such sizes (see algos::tuned_bytes). None if no entry covers them, or if its algorithm does not fit the
// layout, the operation or a deterministic request.
void take_tuned(const Engine& engine, algos::Collective collective, std::uint64_t bytes, RequestPlan& plan);

// Collective, checks that all ranks are about to initialise the same: collective, in place or not (unless it has a
// root), operation, root, deterministic, executor, algorithm, announced starts. Throws Error(mismatch).
void agree_on_choice(const CommContext& context, algos::Collective collective, const RequestPlan& plan);

} // namespace stoker::engine
