// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/power_of_two.hpp"

#include <array>
#include <bit>

namespace stoker::algos {

void among_a_power_of_two(VectorSteps& steps, const Group& group, const Blocks& blocks, const Home& home,
                          const std::function<void(const Group& others)>& allreduce) {
  const std::size_t pairs = group.size() - std::bit_floor(group.size());
  Group others;
  for (std::size_t member = 0; member < group.size(); ++member) {
    if (member >= 2 * pairs || member % 2 == 0) {
      others.me = member == group.me ? others.size() : others.me;
      others.members.push_back(group.members[member]);
    }
  }
  const bool paired = group.me < 2 * pairs;
  if (paired && group.me % 2 == 1) {
    steps.send(group.members[group.me - 1], blocks);
    steps.receive(group.members[group.me - 1], blocks, home);
    return;
  }
  if (paired) {
    steps.reduce(group.subgroup(std::array{group.me, group.me + 1}), blocks, home);
  }
  allreduce(others);
  steps.settle(blocks, home);
  if (paired) {
    steps.send(group.members[group.me + 1], blocks);
  }
}

} // namespace stoker::algos
