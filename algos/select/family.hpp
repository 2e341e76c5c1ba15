// SPDX-License-Identifier: BSD-3-Clause
// The members of an algorithm's family: all combinations of some values of its parameters.
#pragma once

#include "algos/select/choice.hpp"

#include <cstdint>
#include <vector>

namespace stoker::algos {

// Few values: of each parameter such that one of them is near the best on every machine, for so many bytes. Many: what
// one would try who has the time, whatever the number of bytes.
enum class Breadth : std::uint8_t { few, many };

// All different, resolved for the layout; the preset values first. `bytes`: of a block; of the vector where there are
// no blocks. Empty for an algorithm that is another one on such a layout, as with several leaders on nodes of one rank.
[[nodiscard]] std::vector<Choice> family(const Algorithm& algorithm, const topology::Layout& layout,
                                         std::uint64_t bytes, Breadth breadth = Breadth::few);

} // namespace stoker::algos
