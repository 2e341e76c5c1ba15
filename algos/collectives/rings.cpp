// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/rings.hpp"

#include "algos/schedule/append.hpp"

namespace stoker::algos {

void ring_reduce_scatter(VectorSteps& steps, const Group& group, const Home& home) {
  const std::size_t n = group.size();
  const int before = group.members[(group.me + n - 1) % n];
  const int behind = group.members[(group.me + 1) % n];
  for (std::size_t step = 1; step < n; ++step) {
    steps.send(before, Blocks{(group.me + step) % n});
    steps.accumulate(behind, Blocks{(group.me + step + 1) % n}, step + 1 == n ? home : steps.aside());
  }
}

void ring_allgather(VectorSteps& steps, const Group& group, const std::function<Blocks(std::size_t member)>& blocks_of,
                    const Home& home, std::optional<std::size_t> source) {
  const std::size_t n = group.size();
  const std::size_t before = (group.me + n - 1) % n;
  const std::size_t behind = (group.me + 1) % n;
  for (std::size_t step = 1; step < n; ++step) {
    if (behind != source) {
      steps.send(group.members[behind], blocks_of((group.me + n - step + 1) % n));
    }
    if (group.me != source) {
      steps.receive(group.members[before], blocks_of((group.me + n - step) % n), home);
    }
  }
}

void neighbor_allgather(VectorSteps& steps, const Group& group,
                        const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home) {
  const std::size_t n = group.size();
  const std::size_t pairs = n / 2;
  const auto blocks_of_pair = [&](std::size_t pair) {
    Blocks blocks = blocks_of(2 * pair);
    const Blocks second = blocks_of((2 * pair) + 1);
    append(blocks, second);
    return blocks;
  };
  // The pair whose blocks a member receives in a step: the even one looks to the left first.
  const auto received = [&](std::size_t member, std::size_t step) {
    const std::size_t distance = (step + 1) / 2;
    const bool to_the_left = (step % 2 == 1) == (member % 2 == 0);
    return ((member / 2) + (to_the_left ? pairs - distance : distance)) % pairs;
  };
  const std::size_t partner = group.me % 2 == 0 ? group.me + 1 : group.me - 1;
  const std::size_t neighbor = (group.me % 2 == 0 ? group.me + n - 1 : group.me + 1) % n;
  steps.send(group.members[partner], blocks_of(group.me));
  steps.receive(group.members[partner], blocks_of(partner), home);
  for (std::size_t step = 1; step < pairs; ++step) {
    const int peer = group.members[step % 2 == 1 ? neighbor : partner];
    steps.send(peer, blocks_of_pair(step == 1 ? group.me / 2 : received(group.me, step - 1)));
    steps.receive(peer, blocks_of_pair(received(group.me, step)), home);
  }
}

} // namespace stoker::algos
