// SPDX-License-Identifier: BSD-3-Clause
// The choice of an algorithm for a request for which nobody has named one. The candidates are shared out to the ranks,
// each of which works out the time of its own ones, with the programs of other ranks, too.
#pragma once

#include "algos/select/choice.hpp"
#include "algos/simulate/simulate.hpp"
#include "engine/core/engine.hpp"
#include "engine/requests/request.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace stoker::engine {

// Collective: for equal blocks, or blocks of that mean size, or a vector. `bytes`: of a block, or of the vector, which
// consists of elements of `element_bytes`. Calls of about that size on the same communicator get the same choice, which
// is made for the first of them. Throws Error(unsupported) if there is no algorithm for a deterministic request.
[[nodiscard]] algos::Choice default_choice(Engine& engine, const RequestPlan& plan, algos::Collective collective,
                                           std::uint64_t bytes, std::uint64_t element_bytes);

// Collective: where only the ranks of one node know each other's programs. `program_of` makes that of a rank of this
// node.
[[nodiscard]] algos::Choice
default_choice_by_node(const Engine& engine, const RequestPlan& plan, std::span<const algos::Choice> candidates,
                       const std::function<algos::Program(const algos::Choice&, int rank)>& program_of);

} // namespace stoker::engine
