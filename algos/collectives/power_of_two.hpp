// SPDX-License-Identifier: BSD-3-Clause
// Allreduces for a power of two of members, made ones for any number.
#pragma once

#include "algos/collectives/vector_steps.hpp"

#include <functional>

namespace stoker::algos {

// The second member of each of the first pairs gives its operand to the first one, stands back while the others do
// `allreduce` among them, and gets the result. The others keep their order. The result is at `home`.
void among_a_power_of_two(VectorSteps& steps, const Group& group, const Blocks& blocks, const Home& home,
                          const std::function<void(const Group& others)>& allreduce);

} // namespace stoker::algos
