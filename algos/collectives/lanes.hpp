// SPDX-License-Identifier: BSD-3-Clause
// How node-aware algorithms see the ranks: the ranks of this rank's node, and its lanes. Each lane acts for the node in
// one part of the work.
#pragma once

#include "algos/collectives/vector_steps.hpp"

#include <functional>
#include <span>
#include <vector>

namespace stoker::algos {

class Lanes {
public:
  // `per_node`: the number of lanes, at most the number of ranks on the smallest node; or Parts::domains. A root is a
  // lane of its node, in the place of the one that would act for it (`root` -1: there is none).
  Lanes(const DistributedVector& vector, std::int32_t per_node, int root = -1);

  [[nodiscard]] std::size_t count() const { return lanes_.size(); }
  [[nodiscard]] const Group& node() const { return node_; } // the ranks of this rank's node
  [[nodiscard]] int nodes() const { return static_cast<int>(lanes_.front().size()); }
  // The rank that is the lane on a node; and on this rank's node.
  [[nodiscard]] int rank(std::size_t lane, int node) const { return lanes_[lane][static_cast<std::size_t>(node)]; }
  [[nodiscard]] int here(std::size_t lane) const { return rank(lane, my_node_); }
  // The index in node() of the first lane.
  [[nodiscard]] std::size_t head() const;
  // The lane that this rank is on its node; count() if it is none.
  [[nodiscard]] std::size_t mine() const { return mine_; }
  // The ranks of a lane on all nodes, in the nodes' order, seen from this node.
  [[nodiscard]] Group between(std::size_t lane) const;
  // Which lane acts for a rank of any node.
  [[nodiscard]] std::size_t lane_of(int rank) const { return lane_of_[static_cast<std::size_t>(rank)]; }
  // The blocks of those of the ranks for which the lane acts.
  [[nodiscard]] Blocks blocks_of(std::size_t lane, std::span<const int> ranks) const;

private:
  Group node_;
  int my_node_ = 0;
  std::vector<std::vector<int>> lanes_; // by lane and node
  std::vector<std::size_t> lane_of_;    // by rank
  std::size_t mine_ = 0;
};

// Within a node: each lane sends the others what `blocks_of` says it has for them, and gets theirs.
void share_from_lanes(VectorSteps& steps, const Lanes& lanes,
                      const std::function<Blocks(std::size_t lane, int to)>& blocks_of, const Home& home);

// Whether the order of nodes is also the order of ranks. Node-aware algorithms need that for operations that are not
// commutative, and for scans.
[[nodiscard]] bool nodes_in_order(const topology::Layout& layout);
// Throws std::invalid_argument if the operation needs that order and the ranks do not have it.
void check_order(const DistributedVector& vector);

} // namespace stoker::algos
