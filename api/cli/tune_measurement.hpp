// SPDX-License-Identifier: BSD-3-Clause
// The time that collectives take on the ranks of this job, by algorithm.
#pragma once

#include "algos/select/choice.hpp"
#include "engine/core/engine.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace stoker::cli {

// Collective over MPI_COMM_WORLD, with equal results on all ranks: the seconds of Start and Wait with nothing between
// them, on the slowest rank, for each of the choices; the median of so many repetitions, in which the choices take
// turns. Infinity for a choice with which no request can be made. `bytes`: of each block, or of the vector.
[[nodiscard]] std::vector<double> measured_seconds(const std::shared_ptr<engine::Engine>& engine,
                                                   std::span<const algos::Choice> choices, std::uint64_t bytes,
                                                   int repetitions);

} // namespace stoker::cli
