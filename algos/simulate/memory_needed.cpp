// SPDX-License-Identifier: BSD-3-Clause
#include "algos/simulate/memory_needed.hpp"

#include "algos/simulate/simulation.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace stoker::algos {

namespace {

// What a growing vector has allocated at most: the next power of two, and half of that while it is copied.
std::uint64_t grown(double elements, std::size_t bytes) {
  const std::uint64_t capacity = std::bit_ceil(static_cast<std::uint64_t>(elements) + 1);
  return (capacity + (capacity / 2)) * bytes;
}

// What one rank's program takes, or the mean over several.
struct Share {
  double steps = 0;
  double messages = 0;    // that may be on their way at once
  double task_bytes = 0;  // that may wait for its processor
  double kept_bytes = 0;  // of its skeleton
  double built_bytes = 0; // while the program is compiled
  void add(const Share& other, double weight) {
    steps += weight * other.steps;
    messages += weight * other.messages;
    task_bytes += weight * other.task_bytes;
    kept_bytes += weight * other.kept_bytes;
    built_bytes = std::max(built_bytes, other.built_bytes);
  }
};

// Messages of a rank that do not wait for each other: those as many steps away from the first one. A step comes behind
// those that it waits for.
std::uint64_t messages_at_once(const Skeleton& skeleton) {
  std::vector<std::uint32_t> depth(skeleton.size(), 0);
  std::vector<std::uint64_t> at_depth(1, 0);
  std::uint64_t most = 0;
  for (StepId step = 0; step < skeleton.size(); ++step) {
    for (const StepId next : skeleton.successors_of(step)) {
      depth[next] = std::max(depth[next], depth[step] + 1);
    }
    if (delivers(skeleton.steps[step].kind)) {
      at_depth.resize(std::max<std::size_t>(at_depth.size(), depth[step] + 1), 0);
      most = std::max(most, ++at_depth[depth[step]]);
    }
  }
  return most;
}

template <class Element>
double allocated(const std::vector<Element>& vector) {
  return static_cast<double>(vector.capacity() * sizeof(Element));
}

Share share_of(const Program& program, const Skeleton& skeleton) {
  const std::uint64_t messages = messages_at_once(skeleton);
  constexpr double of_an_entry = 64; // in the table of skeletons
  return {.steps = static_cast<double>(skeleton.size()),
          .messages = static_cast<double>(messages),
          .task_bytes = static_cast<double>(std::bit_ceil(2 * messages + 1) * sizeof(Task)),
          .kept_bytes = sizeof(Skeleton) + of_an_entry + allocated(skeleton.steps) + allocated(skeleton.successors) +
                        allocated(skeleton.receives) + allocated(skeleton.sends) + allocated(skeleton.fences),
          .built_bytes = 4 * (allocated(program.steps) + allocated(program.slices) + allocated(program.successors))};
}

// Some of so many, the first and the last among them.
std::vector<int> some_of(int count) {
  std::vector<int> some;
  for (const int one : {0, std::min(1, count - 1), count / 2, count - 1}) {
    if (some.empty() || some.back() != one) {
      some.push_back(one);
    }
  }
  return some;
}

// How many programs of all are different, given how many of those looked at are.
double all_different(std::size_t different, std::size_t looked_at, int all) {
  return looked_at <= 1 ? 1 : 1 + (static_cast<double>(different - 1) / static_cast<double>(looked_at - 1) * (all - 1));
}

} // namespace

std::uint64_t memory_needed(const topology::Layout& layout, const ProgramOf& program_of, int compilers) {
  const std::vector<int> nodes = some_of(layout.nodes());
  const auto ranks_per_node = static_cast<int>(layout.node_ranks(0).size());
  const std::vector<int> members = some_of(ranks_per_node);
  Share mean;
  Skeletons by_member; // of the first node
  double across_nodes = 1;
  for (std::size_t m = 0; m < members.size(); ++m) {
    Skeletons by_node;
    // The first rank of a node often does more than the others, and stands for itself alone.
    const double weight =
        m == 0 ? 1.0 / ranks_per_node : (1 - (1.0 / ranks_per_node)) / static_cast<double>(members.size() - 1);
    for (const int node : nodes) {
      const auto ranks = layout.node_ranks(node);
      const int rank = ranks[std::min<std::size_t>(static_cast<std::size_t>(members[m]), ranks.size() - 1)];
      const Program program = program_of(rank);
      Skeleton skeleton = skeleton_of(program);
      mean.add(share_of(program, skeleton), weight / static_cast<double>(nodes.size()));
      if (node == 0) {
        by_member.add(skeleton);
      }
      by_node.add(std::move(skeleton));
    }
    across_nodes = std::max(across_nodes, all_different(by_node.different(), nodes.size(), layout.nodes()));
  }
  const auto ranks = static_cast<double>(layout.ranks());
  const double different =
      std::min(ranks, across_nodes * all_different(by_member.different(), members.size(), ranks_per_node));
  const double messages = ranks * mean.messages;
  const double states = ranks * mean.steps; // all there before the first message
  constexpr double of_a_rank = 400;         // its own record, its processor and its links
  const std::uint64_t under_way = grown(messages, sizeof(Message)) + grown(messages / 2, sizeof(Event)) +
                                  static_cast<std::uint64_t>(ranks * mean.task_bytes);
  const std::uint64_t while_states_grow = grown(states, sizeof(std::uint32_t)) / 3;
  const double built = compilers * (mean.built_bytes + (compilers > 1 ? programs_in_a_row * mean.kept_bytes : 0));
  return (2 * while_states_grow) + std::max(while_states_grow, under_way) +
         static_cast<std::uint64_t>((different * mean.kept_bytes) + (ranks * of_a_rank) + built);
}

} // namespace stoker::algos
