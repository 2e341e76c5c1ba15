// SPDX-License-Identifier: BSD-3-Clause
// What init costs, for requests of which it is known how often they will be started (info key stoker_starts): a choice
// that takes longer to make than all starts can gain is not made.
#pragma once

#include "algos/schedule/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace stoker::algos {

// What a rank takes to compile, place and link a program: so much a step. In round numbers; what init waits for other
// ranks is the same for all algorithms.
[[nodiscard]] double init_seconds(const Program& program);

// Whether weighing so many candidates against each other may pay, given the seconds that the first of them takes to
// compile and for each start. All the others are compiled to be weighed, and none can gain more than all the time of
// the first.
[[nodiscard]] bool pays_to_weigh(std::size_t candidates, double init, double seconds, std::uint64_t starts);

// The index of the candidate to take, given the seconds of init and of each start of every candidate: preferred() of
// all the seconds that init and the starts take together. A slow init is taken from the number of starts on at which
// it has been won back.
[[nodiscard]] std::size_t preferred(std::span<const double> init, std::span<const double> seconds,
                                    std::uint64_t starts);

} // namespace stoker::algos
