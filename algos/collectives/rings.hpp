// SPDX-License-Identifier: BSD-3-Clause
// Stages in which each member only exchanges with its neighbours in a ring: as many messages in a row as there are
// members, of one block each. Member m has, or ends with, block m.
#pragma once

#include "algos/collectives/vector_steps.hpp"

#include <functional>
#include <optional>

namespace stoker::algos {

// Sums go round, and each member adds its own operand. The last one is in `home`, those on the way are aside.
void ring_reduce_scatter(VectorSteps& steps, const Group& group, const Home& home);

// `source`: the member that has all blocks before, and receives none.
void ring_allgather(VectorSteps& steps, const Group& group, const std::function<Blocks(std::size_t member)>& blocks_of,
                    const Home& home, std::optional<std::size_t> source = {});

// Chen, Zhang, Zhang and Yuan's neighbor exchange: half as many messages of two blocks each, with the right and the
// left neighbour in turn. An even number of members.
void neighbor_allgather(VectorSteps& steps, const Group& group,
                        const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home);

} // namespace stoker::algos
