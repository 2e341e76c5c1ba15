// SPDX-License-Identifier: BSD-3-Clause
// What a caller or the settings choose for a request, or the cost model if they do not, and what its ranks must agree
// on.
#pragma once

#include "algos/select/choice.hpp"
#include "engine/core/engine.hpp"
#include "engine/requests/request.hpp"

#include <mpi.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stoker::engine {

// The value of a key of `info`, which may be MPI_INFO_NULL.
[[nodiscard]] std::optional<std::string> info_value(MPI_Info info, const char* key);

// Throw Error(setting), or Error(unsupported) where helpers are demanded and there are none, or the operation is
// user-defined.
[[nodiscard]] Executor chosen_executor(const Engine& engine, MPI_Info info);
[[nodiscard]] Executor chosen_executor(const Engine& engine, const Operation& operation, MPI_Info info);

// Whether reductions have to give the same bits in every run. Local. Throws Error(setting).
[[nodiscard]] bool is_deterministic(const Engine& engine, algos::Collective collective, MPI_Info info);

// Local: the plan's algorithm by info key or else the effective setting, none if it is to be selected, and whether it
// is deterministic. A setting that does not fit the communicator is adapted, with a warning the first time; an info key
// throws Error(setting). The plan has context and operation.
void choose(Engine& engine, algos::Collective collective, MPI_Info info, RequestPlan& plan);

// Collective: the default choice of the candidates, which are the same on all ranks. `compile` gives this rank's
// program of one.
[[nodiscard]] algos::Choice select(const Engine& engine, const CommContext& context,
                                   const std::vector<algos::Choice>& candidates, Executor executor,
                                   const std::function<algos::Program(const algos::Choice&)>& compile);

// Collective, checks that all ranks are about to initialise the same: collective, in place or not (unless it has a
// root), operation, root, deterministic, executor, algorithm. Throws Error(mismatch).
void agree_on_choice(const CommContext& context, algos::Collective collective, const RequestPlan& plan);

} // namespace stoker::engine
