// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/multi_radix.hpp"

#include "algos/collectives/power_of_two.hpp"
#include "algos/schedule/append.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

namespace stoker::algos {

namespace {

// How many blocks a member has before each stage of a cyclic allgather, and at the end: 1 first, `members` last.
std::vector<std::size_t> cyclic_holdings(std::span<const std::size_t> factors, std::size_t members) {
  std::vector<std::size_t> held{1};
  for (const std::size_t factor : factors) {
    held.push_back(std::min(held.back() * factor, members));
  }
  return held;
}

std::vector<std::size_t> reversed(std::span<const std::size_t> factors) { return {factors.rbegin(), factors.rend()}; }

// The blocks of `count` consecutive members of a ring.
Blocks blocks_round(const std::function<Blocks(std::size_t member)>& blocks_of, std::size_t members, std::size_t begin,
                    std::size_t count) {
  Blocks result;
  for (std::size_t i = 0; i < count; ++i) {
    const Blocks more = blocks_of((begin + i) % members);
    append(result, more);
  }
  return result;
}

// The members that a member meets in a stage, itself among them, in their order.
std::vector<std::size_t> partners_of(std::size_t member, std::size_t stride, std::size_t factor) {
  std::vector<std::size_t> partners(factor);
  const std::size_t first = member - (member / stride % factor * stride);
  for (std::size_t d = 0; d < factor; ++d) {
    partners[d] = first + (d * stride);
  }
  return partners;
}

} // namespace

void exchange_reduce_scatter(VectorSteps& steps, const Group& group, std::span<const std::size_t> factors,
                             std::size_t first, PartOrder order, const std::function<const Home&(bool last)>& home) {
  const std::size_t parts = product(factors);
  Blocks held = block_range(0, parts);
  std::size_t stride = 1; // between the members that divide what they have
  for (std::size_t stage = 0; stage < factors.size(); ++stage) {
    const std::size_t factor = factors[stage];
    const std::size_t part_stride = order == PartOrder::by_member ? stride : parts / (stride * factor);
    const std::size_t digit = group.me / stride % factor;
    std::vector<Blocks> shares(factor);
    for (const std::size_t part : held) {
      shares[part / part_stride % factor].push_back(part);
    }
    const std::vector<std::size_t> partners = partners_of(group.me, stride, factor);
    const auto blocks = [&](const Blocks& share) {
      Blocks result;
      std::ranges::transform(share, std::back_inserter(result), [&](std::size_t part) { return first + part; });
      return result;
    };
    // Each rank sends to the next one first, so that not all send to the same one.
    for (std::size_t d = 1; d < factor; ++d) {
      const std::size_t partner = (digit + d) % factor;
      steps.send(group.members[partners[partner]], blocks(shares[partner]));
    }
    steps.reduce_here(group.subgroup(partners), blocks(shares[digit]), home(stage + 1 == factors.size()));
    held = shares[digit];
    stride *= factor;
  }
}

void exchange_allgather(VectorSteps& steps, const Group& group, std::span<const std::size_t> factors, std::size_t parts,
                        const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home) {
  const std::size_t rest = group.me / parts * parts; // members that have other operands are no partners
  const auto held_by = [&](std::size_t member, std::size_t stages) {
    std::vector<std::size_t> owners{member - rest};
    std::size_t stride = parts;
    for (std::size_t stage = 0; stage < stages; ++stage) {
      const std::size_t factor = factors[stage];
      stride /= factor;
      const std::size_t before = owners.size();
      for (std::size_t i = 0; i < before; ++i) {
        const std::size_t digit = owners[i] / stride % factor;
        for (std::size_t d = 0; d < factor; ++d) {
          if (d != digit) {
            owners.push_back(owners[i] + (d * stride) - (digit * stride));
          }
        }
      }
    }
    std::ranges::sort(owners);
    Blocks blocks;
    for (const std::size_t owner : owners) {
      const Blocks more = blocks_of(rest + owner);
      append(blocks, more);
    }
    return blocks;
  };
  std::size_t stride = parts;
  for (std::size_t stage = 0; stage < factors.size(); ++stage) {
    const std::size_t factor = factors[stage];
    stride /= factor;
    const std::size_t digit = (group.me - rest) / stride % factor;
    const Blocks mine = held_by(group.me, stage);
    const auto partner = [&](std::size_t d) { return group.me + (d * stride) - (digit * stride); };
    for (std::size_t d = 1; d < factor; ++d) {
      steps.send(group.members[partner((digit + d) % factor)], mine);
    }
    for (std::size_t d = 1; d < factor; ++d) {
      const std::size_t from = partner((digit + factor - d) % factor);
      steps.receive(group.members[from], held_by(from, stage), home);
    }
  }
}

namespace {

// Where the result goes when so many rounds are left in which members combine.
const Home& home_before(VectorSteps& steps, std::size_t rounds, const Home& home) {
  return rounds % 2 == 0 ? home : steps.aside();
}

} // namespace

void combine_in_rounds(VectorSteps& steps, std::size_t rounds, const std::function<Group(std::size_t round)>& group_in,
                       const Blocks& blocks, const Home& home) {
  for (std::size_t round = 0; round < rounds; ++round) {
    const Group group = group_in(round);
    const Home& place = home_before(steps, rounds - 1 - round, home);
    // In place, the operands may be where the result should go.
    const Home& to = !steps.is_at(blocks.front(), place) ? place : &place == &home ? steps.aside() : home;
    for (std::size_t i = 1; i < group.size(); ++i) {
      steps.send(group.members[(group.me + i) % group.size()], blocks);
    }
    steps.reduce(group, blocks, to);
  }
  steps.settle(blocks, home);
}

namespace {

// Every `parts`-th member has the same part, reduced over some of the members. They combine what they have.
void complete_part(VectorSteps& steps, const Group& group, std::size_t parts, std::span<const std::size_t> combining,
                   const Blocks& part, const Home& home) {
  const auto group_in = [&](std::size_t round) {
    return group.subgroup(partners_of(group.me, parts * product(combining.first(round)), combining[round]));
  };
  combine_in_rounds(steps, combining.size(), group_in, part, home);
}

} // namespace

void exchange_allreduce(VectorSteps& steps, const Group& group, const Phases& phases, std::size_t first,
                        const Home& home) {
  const std::size_t parts = phases.parts();
  const std::vector<std::size_t>& combining = phases.combining;
  exchange_reduce_scatter(steps, group, phases.dividing, first, PartOrder::nested,
                          [&](bool /*last*/) -> const Home& { return home_before(steps, combining.size(), home); });

  // Where the parts of a member are, by its digits.
  const auto part_of = [&](std::size_t member) {
    std::size_t part = 0;
    std::size_t stride = 1;
    for (const std::size_t factor : phases.dividing) {
      part += member / stride % factor * (parts / (stride * factor));
      stride *= factor;
    }
    return Blocks{first + part};
  };
  complete_part(steps, group, parts, combining, part_of(group.me), home);
  exchange_allgather(steps, group, phases.gathering, parts, part_of, home);
}

void cyclic_reduce_scatter(VectorSteps& steps, const Group& group, std::span<const std::size_t> factors,
                           const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home) {
  // The reverse of an allgather: what is brought there in the last stage leaves here in the first one.
  const std::size_t members = group.size();
  const std::vector<std::size_t> held = cyclic_holdings(reversed(factors), members);
  for (std::size_t stage = factors.size(); stage-- > 0;) {
    const std::size_t before = held[stage + 1];
    const std::size_t after = held[stage];
    const auto share = [&](std::size_t j) { return std::min((j + 1) * after, before) - (j * after); };
    for (std::size_t j = 1; j * after < before; ++j) {
      const std::size_t to = (group.me + (j * after)) % members;
      steps.send(group.members[to], blocks_round(blocks_of, members, to, share(j)));
    }
    for (std::size_t j = 1; j * after < before; ++j) {
      steps.accumulate(group.members[(group.me + members - (j * after)) % members],
                       blocks_round(blocks_of, members, group.me, share(j)), home);
    }
  }
}

void cyclic_allgather(VectorSteps& steps, const Group& group, std::span<const std::size_t> factors,
                      const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home) {
  const std::size_t members = group.size();
  const std::vector<std::size_t> held = cyclic_holdings(factors, members);
  for (std::size_t stage = 0; stage < factors.size(); ++stage) {
    const std::size_t before = held[stage];
    const std::size_t after = held[stage + 1];
    const auto share = [&](std::size_t j) { return std::min((j + 1) * before, after) - (j * before); };
    for (std::size_t j = 1; j * before < after; ++j) {
      steps.send(group.members[(group.me + members - (j * before)) % members],
                 blocks_round(blocks_of, members, group.me, share(j)));
    }
    for (std::size_t j = 1; j * before < after; ++j) {
      const std::size_t from = (group.me + (j * before)) % members;
      steps.receive(group.members[from], blocks_round(blocks_of, members, from, share(j)), home);
    }
  }
}

void cyclic_allreduce(VectorSteps& steps, const Group& group, const CyclicPhases& phases, std::size_t first,
                      const Home& home) {
  const std::size_t parts = phases.parts;
  const std::vector<std::size_t>& combining = phases.combining;
  std::vector<std::size_t> indices(parts);
  std::iota(indices.begin(), indices.end(), group.me / parts * parts);
  const Group neighbors = group.subgroup(indices);
  const auto part_of = [&](std::size_t member) { return Blocks{first + member}; };
  cyclic_reduce_scatter(steps, neighbors, phases.dividing, part_of, home_before(steps, combining.size(), home));
  complete_part(steps, group, parts, combining, part_of(neighbors.me), home);
  cyclic_allgather(steps, neighbors, phases.gathering, part_of, home);
}

void allgather(VectorSteps& steps, const Group& group, const FactorList& factors,
               const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home) {
  const std::vector<std::size_t> list = gathering(factors);
  if (product(list) == group.size()) {
    exchange_allgather(steps, group, list, group.size(), blocks_of, home);
  } else {
    cyclic_allgather(steps, group, list, blocks_of, home);
  }
}

void folded_allreduce(VectorSteps& steps, const Group& group, const FactorList& factors, std::size_t first,
                      const Home& home) {
  const Phases phases = phases_of(factors, std::bit_floor(group.size()));
  among_a_power_of_two(steps, group, block_range(first, first + phases.parts()), home,
                       [&](const Group& others) { exchange_allreduce(steps, others, phases, first, home); });
}

std::size_t allreduce_parts(const FactorList& factors, std::size_t members) {
  return exchange_defect(factors, members, Signs::both).empty() ? phases_of(factors, members).parts()
         : folded_defect(factors, members, Signs::both).empty() ? product(dividing(factors))
                                                                : cyclic_phases_of(factors, members).value().parts;
}

void allreduce(VectorSteps& steps, const Group& group, const FactorList& factors, std::size_t first, const Home& home) {
  if (exchange_defect(factors, group.size(), Signs::both).empty()) {
    exchange_allreduce(steps, group, phases_of(factors, group.size()), first, home);
    return;
  }
  if (folded_defect(factors, group.size(), Signs::both).empty()) {
    folded_allreduce(steps, group, factors, first, home);
    return;
  }
  cyclic_allreduce(steps, group, cyclic_phases_of(factors, group.size()).value(), first, home);
}

// ---- trees ----

namespace {

// The runs of members into which a tree divides a group at one level.
struct Division {
  std::size_t begin = 0; // of the run of which this is a division
  std::size_t end = 0;
  std::size_t stride = 1;
  std::size_t factor = 1;
};

class Tree {
public:
  Tree(const Group& group, std::size_t root) : group_(group), root_(root) {}

  // Who stands for the members begin..end.
  [[nodiscard]] std::size_t head(std::size_t begin, std::size_t end) const {
    return begin <= root_ && root_ < end ? root_ : begin;
  }
  [[nodiscard]] Division level(std::size_t stride, std::size_t factor) const {
    const std::size_t begin = group_.me / (stride * factor) * (stride * factor);
    return {begin, std::min(begin + (stride * factor), group_.size()), stride, factor};
  }
  // Calls `visit(head, begin, end)` for each run of the level.
  template <class Visit>
  void for_runs(const Division& level, Visit visit) const {
    for (std::size_t begin = level.begin; begin < level.end; begin += level.stride) {
      const std::size_t end = std::min(begin + level.stride, level.end);
      visit(head(begin, end), begin, end);
    }
  }
  [[nodiscard]] bool stands_for_its_run(const Division& level) const {
    const std::size_t begin = group_.me / level.stride * level.stride;
    return head(begin, std::min(begin + level.stride, group_.size())) == group_.me;
  }
  [[nodiscard]] std::size_t head(const Division& level) const { return head(level.begin, level.end); }

private:
  const Group& group_;
  std::size_t root_;
};

std::vector<Division> levels_from_leaves(const Tree& tree, std::span<const std::size_t> factors) {
  std::vector<Division> levels;
  std::size_t stride = 1;
  for (const std::size_t factor : factors) {
    levels.push_back(tree.level(stride, factor));
    stride *= factor;
  }
  return levels;
}

std::vector<Division> levels_from_root(const Tree& tree, std::span<const std::size_t> factors) {
  std::vector<Division> levels = levels_from_leaves(tree, reversed(factors));
  std::ranges::reverse(levels);
  return levels;
}

Blocks blocks_of_run(const std::function<Blocks(std::size_t member)>& blocks_of, std::size_t begin, std::size_t end) {
  Blocks blocks;
  for (std::size_t member = begin; member < end; ++member) {
    const Blocks more = blocks_of(member);
    append(blocks, more);
  }
  return blocks;
}

} // namespace

void tree_reduce(VectorSteps& steps, const Group& group, std::size_t root, std::span<const std::size_t> factors,
                 std::span<const std::size_t> blocks, const Home& home) {
  const Tree tree(group, root);
  for (const Division& level : levels_from_leaves(tree, factors)) {
    if (tree.head(level) != group.me) {
      steps.send(group.members[tree.head(level)], blocks);
      return;
    }
    std::vector<std::size_t> heads;
    tree.for_runs(level, [&](std::size_t head, std::size_t, std::size_t) { heads.push_back(head); });
    steps.reduce_here(group.subgroup(heads), blocks, home);
  }
}

std::vector<TreeLevel> broadcast_levels(const Group& group, std::size_t root, std::span<const std::size_t> factors) {
  const Tree tree(group, root);
  std::vector<TreeLevel> result;
  for (const Division& level : levels_from_root(tree, factors)) {
    TreeLevel& mine = result.emplace_back();
    const std::size_t source = tree.head(level);
    if (source == group.me) {
      tree.for_runs(level, [&](std::size_t head, std::size_t, std::size_t) {
        if (head != source) {
          mine.targets.push_back(group.members[head]);
        }
      });
    } else if (tree.stands_for_its_run(level)) {
      mine.source = group.members[source];
    }
  }
  return result;
}

void tree_broadcast(VectorSteps& steps, const Group& group, std::size_t root, std::span<const std::size_t> factors,
                    std::span<const std::size_t> blocks, const Home& home) {
  for (const TreeLevel& level : broadcast_levels(group, root, factors)) {
    if (level.source) {
      steps.receive(*level.source, blocks, home);
    }
    for (const int target : level.targets) {
      steps.send(target, blocks);
    }
  }
}

void tree_gather(VectorSteps& steps, const Group& group, std::size_t root, std::span<const std::size_t> factors,
                 const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home) {
  const Tree tree(group, root);
  for (const Division& level : levels_from_leaves(tree, factors)) {
    const std::size_t target = tree.head(level);
    if (target != group.me) {
      const std::size_t begin = group.me / level.stride * level.stride;
      steps.send(group.members[target], blocks_of_run(blocks_of, begin, std::min(begin + level.stride, level.end)));
      return;
    }
    tree.for_runs(level, [&](std::size_t head, std::size_t begin, std::size_t end) {
      if (head != target) {
        steps.receive(group.members[head], blocks_of_run(blocks_of, begin, end), home);
      }
    });
  }
}

void tree_scatter(VectorSteps& steps, const Group& group, std::size_t root, std::span<const std::size_t> factors,
                  const std::function<Blocks(std::size_t member)>& blocks_of, const Home& home, const Home& own) {
  const Tree tree(group, root);
  for (const Division& level : levels_from_root(tree, factors)) {
    const std::size_t source = tree.head(level);
    if (source == group.me) {
      tree.for_runs(level, [&](std::size_t head, std::size_t begin, std::size_t end) {
        if (head != source) {
          steps.send(group.members[head], blocks_of_run(blocks_of, begin, end));
        }
      });
    } else if (tree.stands_for_its_run(level)) {
      const std::size_t begin = group.me / level.stride * level.stride;
      const std::size_t end = std::min(begin + level.stride, level.end);
      steps.receive(group.members[source], blocks_of_run(blocks_of, begin, end), end - begin == 1 ? own : home);
    }
  }
}

} // namespace stoker::algos
