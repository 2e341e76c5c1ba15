// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/lanes.hpp"

#include "algos/collectives/teams.hpp"

#include <algorithm>
#include <stdexcept>

namespace stoker::algos {

Lanes::Lanes(const DistributedVector& vector, std::int32_t per_node, int root) {
  const topology::Layout& layout = vector.layout;
  my_node_ = layout.node_of(vector.rank);
  const auto mine = layout.node_ranks(my_node_);
  node_.members.assign(mine.begin(), mine.end());
  node_.me = static_cast<std::size_t>(layout.local_index(vector.rank));

  std::size_t count = layout.node_ranks(0).size();
  std::size_t domains = static_cast<std::size_t>(layout.ranks());
  for (int node = 0; node < layout.nodes(); ++node) {
    const auto ranks = layout.node_ranks(node);
    std::vector<int> of_node;
    for (const int rank : ranks) {
      of_node.push_back(layout.domain_of(rank));
    }
    std::ranges::sort(of_node);
    of_node.erase(std::unique(of_node.begin(), of_node.end()), of_node.end());
    domains = std::min(domains, of_node.size());
    count = std::min(count, ranks.size());
  }
  if (per_node == Parts::domains) {
    count = domains;
  } else if (per_node != Parts::each) {
    count = std::min(count, static_cast<std::size_t>(per_node));
  }
  lanes_.resize(count);
  lane_of_.resize(static_cast<std::size_t>(layout.ranks()));
  for (int node = 0; node < layout.nodes(); ++node) {
    const auto ranks = layout.node_ranks(node);
    std::vector<int> chosen;
    for (std::size_t lane = 0; lane < count; ++lane) {
      chosen.push_back(ranks[lane * ranks.size() / count]);
    }
    if (root >= 0 && layout.node_of(root) == node && std::ranges::find(chosen, root) == chosen.end()) {
      const auto index = static_cast<std::size_t>(layout.local_index(root));
      chosen[index * count / ranks.size()] = root;
    }
    for (std::size_t index = 0; index < ranks.size(); ++index) {
      lane_of_[static_cast<std::size_t>(ranks[index])] = index * count / ranks.size();
    }
    for (std::size_t lane = 0; lane < count; ++lane) { // each acts for itself
      lanes_[lane].push_back(chosen[lane]);
      lane_of_[static_cast<std::size_t>(chosen[lane])] = lane;
    }
  }
  mine_ = 0;
  while (mine_ < count && here(mine_) != vector.rank) {
    ++mine_;
  }
}

std::size_t Lanes::head() const {
  return static_cast<std::size_t>(std::ranges::find(node_.members, here(0)) - node_.members.begin());
}

Blocks Lanes::blocks_of(std::size_t lane, std::span<const int> ranks) const {
  Blocks blocks;
  for (const int rank : ranks) {
    if (lane_of(rank) == lane) {
      blocks.push_back(static_cast<std::size_t>(rank));
    }
  }
  return blocks;
}

Group Lanes::between(std::size_t lane) const { return {lanes_[lane], static_cast<std::size_t>(my_node_)}; }

void share_from_lanes(VectorSteps& steps, const Lanes& lanes,
                      const std::function<Blocks(std::size_t lane, int to)>& blocks_of, const Home& home) {
  const Group& node = lanes.node();
  if (lanes.mine() < lanes.count()) {
    for (std::size_t i = 1; i < node.size(); ++i) {
      const int to = node.members[(node.me + i) % node.size()];
      steps.send(to, blocks_of(lanes.mine(), to));
    }
  }
  for (std::size_t lane = 0; lane < lanes.count(); ++lane) {
    if (lane != lanes.mine()) {
      steps.receive(lanes.here(lane), blocks_of(lane, node.members[node.me]), home);
    }
  }
}

bool nodes_in_order(const topology::Layout& layout) {
  for (int rank = 1; rank < layout.ranks(); ++rank) {
    const int step = layout.node_of(rank) - layout.node_of(rank - 1);
    if (step != 0 && step != 1) {
      return false;
    }
  }
  return true;
}

void check_order(const DistributedVector& vector) {
  if (!vector.commutative && !nodes_in_order(vector.layout)) {
    throw std::invalid_argument(
        "node-aware combines the operands of a node first, but the ranks of nodes are not consecutive, and "
        "the operation is not commutative; expected recursive-exchange or tree");
  }
}

} // namespace stoker::algos
