// SPDX-License-Identifier: BSD-3-Clause
// scan and exscan, in stages; with radix 2 these are Hillis and Steele's. Before a stage a rank has the reduction over
// as many ranks, up to itself, as the factors so far multiply to.
#include "algos/collectives/vector_algorithms.hpp"

#include "algos/collectives/lanes.hpp"
#include "algos/collectives/multi_radix.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace stoker::algos {

namespace {

void scan_among(VectorSteps& steps, const Group& group, std::span<const std::size_t> factors, const Home& home) {
  // A result is sent on as it was before, so it moves to another place in each stage, in the last one to `home`.
  std::size_t stages_left = 0;
  for (std::size_t held = 1, stage = 0; stage < factors.size() && held <= group.me; ++stage) {
    held *= factors[stage];
    ++stages_left;
  }
  std::size_t held = 1;
  for (const std::size_t factor : factors) {
    for (std::size_t j = 1; j < factor && group.me + (j * held) < group.size(); ++j) {
      steps.send(group.members[group.me + (j * held)], steps.all());
    }
    std::vector<std::size_t> sources;
    for (std::size_t j = factor; j-- > 0;) {
      if (j * held <= group.me) {
        sources.push_back(group.me - (j * held));
      }
    }
    if (sources.size() > 1) {
      --stages_left;
      const bool there = steps.is_at(0, stages_left % 2 == 0 ? home : steps.aside());
      steps.reduce(group.subgroup(sources), steps.all(), (stages_left % 2 == 0) != there ? home : steps.aside());
    }
    held *= factor;
  }
  steps.settle(steps.all(), home);
}

class Scan {
public:
  explicit Scan(const DistributedVector& vector, bool receives = true)
      : builder_(vector.rank, vector.layout.ranks(), vector.in_place ? 0 : vector.sizes.front(),
                 receives || vector.in_place ? vector.sizes.front() : 0),
        steps(builder_, vector, {0, vector.sizes.front()}), result(steps.whole(Buffer::recv)) {
    steps.begin_at(steps.all(), steps.whole(vector.in_place ? Buffer::recv : Buffer::send));
  }
  [[nodiscard]] Program finish() && { return std::move(builder_).finish(); }

private:
  Builder builder_;

public:
  VectorSteps steps;
  Home result;
};

// For exscan: passes every rank's operand to the next rank. Returns whether this rank has one to go on with.
bool shift(VectorSteps& steps, const DistributedVector& vector) {
  if (vector.rank + 1 < vector.layout.ranks()) {
    steps.send(vector.rank + 1, steps.all());
  }
  if (vector.rank == 0) {
    return false;
  }
  steps.receive(vector.rank - 1, steps.all(), steps.aside(1));
  return true;
}

Group ranks_from(const DistributedVector& vector, int first) {
  Group group;
  group.members.resize(static_cast<std::size_t>(vector.layout.ranks() - first));
  std::iota(group.members.begin(), group.members.end(), first);
  group.me = static_cast<std::size_t>(vector.rank - first);
  return group;
}

// First each node makes its own scan. Then the nodes' last ranks make one, which is their result. Each node's first
// rank receives the reduction of the nodes before and passes it on, so that it arrives at the node once.
void node_aware_scan(VectorSteps& steps, const DistributedVector& vector, int first, const Tuning& tuning,
                     const Home& home) {
  const topology::Layout& layout = vector.layout;
  std::vector<std::vector<int>> nodes; // that take part: the only rank of the first one does not in an exscan
  std::size_t mine = 0;
  Group last_ranks;
  for (int n = 0; n < layout.nodes(); ++n) {
    std::vector<int> ranks;
    std::ranges::copy_if(layout.node_ranks(n), std::back_inserter(ranks), [&](int rank) { return rank >= first; });
    if (!ranks.empty()) {
      mine = layout.node_of(vector.rank) == n ? nodes.size() : mine;
      last_ranks.members.push_back(ranks.back());
      nodes.push_back(std::move(ranks));
    }
  }
  last_ranks.me = mine;
  const std::vector<int>& node = nodes[mine];
  const Group here{node, static_cast<std::size_t>(vector.rank - node.front())};
  scan_among(steps, here, gathering(cyclic_factors(node.size(), Signs::gathering)), home);
  if (vector.rank == node.back()) {
    scan_among(steps, last_ranks, gathering(tuning.factors_between), home);
    if (mine + 1 < nodes.size() && nodes[mine + 1].size() > 1) {
      steps.send(nodes[mine + 1].front(), steps.all());
    }
  } else if (mine > 0 && vector.rank == node.front()) {
    const std::span<const int> others(node.begin() + 1, node.end() - 1);
    steps.prepend(nodes[mine - 1].back(), others, steps.all(), home);
  } else if (mine > 0) {
    steps.reduce({{node.front(), vector.rank}, 1}, steps.all(), home);
  }
}

void check_nodes(const DistributedVector& vector) {
  if (!nodes_in_order(vector.layout)) {
    throw std::invalid_argument("node-aware: the ranks of nodes are not consecutive; expected cyclic-shift");
  }
}

} // namespace

Program scan_cyclic(const DistributedVector& vector, const Tuning& tuning) {
  Scan scan(vector);
  scan_among(scan.steps, ranks_from(vector, 0), gathering(tuning.factors), scan.result);
  return std::move(scan).finish();
}

Program scan_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  check_nodes(vector);
  Scan scan(vector);
  node_aware_scan(scan.steps, vector, 0, tuning, scan.result);
  return std::move(scan).finish();
}

Program exscan_cyclic(const DistributedVector& vector, const Tuning& tuning) {
  Scan scan(vector, vector.rank > 0);
  if (shift(scan.steps, vector)) {
    scan_among(scan.steps, ranks_from(vector, 1), gathering(tuning.factors), scan.result);
  }
  return std::move(scan).finish();
}

Program exscan_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  check_nodes(vector);
  Scan scan(vector, vector.rank > 0);
  if (shift(scan.steps, vector)) {
    node_aware_scan(scan.steps, vector, 1, tuning, scan.result);
  }
  return std::move(scan).finish();
}

} // namespace stoker::algos
