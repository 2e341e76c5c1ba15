// SPDX-License-Identifier: BSD-3-Clause
// Sanders, Speck and Träff's two trees: the segments of a vector go up and down two binary trees in turns, and all of
// them are on their way at the same time. Inner members of one tree are leaves of the other, so that each sends and
// receives the vector twice at most. The members below another one are a run in rank order: operands keep their order.
#include "algos/collectives/vector_algorithms.hpp"

#include "algos/collectives/chain.hpp"
#include "algos/collectives/vector_programs.hpp"

#include <array>
#include <bit>
#include <optional>
#include <utility>

namespace stoker::algos {

namespace {

struct BinaryNode {
  std::optional<std::size_t> parent;
  std::optional<std::size_t> left; // with those below it before this one, in rank order
  std::optional<std::size_t> right;
};

// The head of the members begin..end: the first, third, ... of them are leaves.
std::optional<std::size_t> head(std::size_t begin, std::size_t end) {
  return begin < end ? std::optional(begin + std::bit_floor(end - begin) - 1) : std::nullopt;
}

// In a tree of the members begin..end, of which `me` is one.
BinaryNode node_in_tree(std::size_t begin, std::size_t end, std::size_t me) {
  BinaryNode node;
  std::size_t top = *head(begin, end);
  while (top != me) {
    node.parent = top;
    (me < top ? end : begin) = me < top ? top : top + 1;
    top = *head(begin, end);
  }
  node.left = head(begin, me);
  node.right = head(me + 1, end);
  return node;
}

// In the second tree member 0 is above a tree of all others.
BinaryNode node_in_second_tree(std::size_t members, std::size_t me) {
  if (me == 0) {
    return {.parent = {}, .left = {}, .right = head(1, members)};
  }
  BinaryNode node = node_in_tree(1, members, me);
  node.parent = node.parent.value_or(0);
  return node;
}

} // namespace

Program allreduce_two_tree(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  const std::size_t up_and_down = 2 * static_cast<std::size_t>(std::bit_width(group.size()) - 1);
  const std::array trees{node_in_tree(0, group.size(), group.me), node_in_second_tree(group.size(), group.me)};
  Reduction reduction = allreduction(vector, tuning, segments_of(vector, tuning, up_and_down));
  VectorSteps& steps = reduction.steps;
  for (const std::size_t segment : steps.all()) {
    const auto& [parent, left, right] = trees[segment % trees.size()];
    const Blocks blocks{segment};
    std::vector<std::size_t> below;
    for (const std::optional<std::size_t> member : {left, std::optional(group.me), right}) {
      if (member) {
        below.push_back(*member);
      }
    }
    steps.reduce(group.subgroup(below), blocks, reduction.result);
    if (parent) {
      steps.send(group.members[*parent], blocks);
      steps.receive(group.members[*parent], blocks, reduction.result);
    }
    for (const std::optional<std::size_t> child : {left, right}) {
      if (child) {
        steps.send(group.members[*child], blocks);
      }
    }
  }
  steps.settle(steps.all(), reduction.result);
  return std::move(reduction).finish();
}

} // namespace stoker::algos
