// SPDX-License-Identifier: BSD-3-Clause
// bcast, allgather, gather and scatter.
#include "algos/collectives/vector_algorithms.hpp"

#include "algos/collectives/chain.hpp"
#include "algos/collectives/lanes.hpp"
#include "algos/collectives/multi_radix.hpp"
#include "algos/collectives/rings.hpp"
#include "algos/collectives/vector_programs.hpp"

#include <algorithm>
#include <utility>

namespace stoker::algos {

namespace {

std::size_t root_of(const DistributedVector& vector) { return static_cast<std::size_t>(vector.root); }

// The blocks of the node's ranks, in order.
Blocks blocks_of_node(const topology::Layout& layout, std::size_t node) {
  const auto ranks = layout.node_ranks(static_cast<int>(node));
  return {ranks.begin(), ranks.end()};
}

} // namespace

Program bcast_tree(const DistributedVector& vector, const Tuning& tuning) {
  Broadcast broadcast(vector, tuning, 1);
  tree_broadcast(broadcast.steps, all_ranks(vector), root_of(vector), gathering(tuning.factors), broadcast.steps.all(),
                 broadcast.home);
  return std::move(broadcast).finish();
}

namespace {

// The root's blocks go down a tree of parts, one for each other rank, which gather them.
void scatter_allgather(VectorSteps& steps, const Group& group, std::size_t root, const FactorList& factors,
                       const Home& home) {
  const auto index = [root](std::size_t member) { return member < root ? member : member - 1; };
  tree_scatter(
      steps, group, root, dividing(factors),
      [&](std::size_t member) { return member == root ? Blocks{} : Blocks{index(member)}; }, home, home);
  if (group.me == root) {
    return;
  }
  Group others{group.members, index(group.me)};
  others.members.erase(others.members.begin() + static_cast<std::ptrdiff_t>(root));
  cyclic_allgather(steps, others, gathering(factors), own_block, home);
}

} // namespace

Program bcast_scatter(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  Broadcast broadcast(vector, tuning, std::max<std::size_t>(1, group.size() - 1));
  scatter_allgather(broadcast.steps, group, root_of(vector), tuning.factors, broadcast.home);
  return std::move(broadcast).finish();
}

Program bcast_scatter_ring(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  Broadcast broadcast(vector, tuning, group.size());
  tree_scatter(broadcast.steps, group, root_of(vector), gathering(tuning.factors), own_block, broadcast.home,
               broadcast.home);
  ring_allgather(broadcast.steps, group, own_block, broadcast.home, root_of(vector));
  return std::move(broadcast).finish();
}

Program bcast_chain(const DistributedVector& vector, const Tuning& tuning) {
  const Chain chain = chain_of(vector);
  Broadcast broadcast(vector, tuning, segments_of(vector, tuning, static_cast<std::size_t>(vector.layout.ranks()) - 1));
  for (const std::size_t segment : broadcast.steps.all()) {
    if (chain.before >= 0) {
      broadcast.steps.receive(chain.before, Blocks{segment}, broadcast.home);
    }
    if (chain.behind >= 0) {
      broadcast.steps.send(chain.behind, Blocks{segment});
    }
  }
  return std::move(broadcast).finish();
}

Program bcast_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  const Lanes lanes(vector, tuning.lanes, vector.root);
  Broadcast broadcast(vector, tuning, lanes.count());
  VectorSteps& steps = broadcast.steps;
  const int root_node = vector.layout.node_of(vector.root);
  const bool at_root = vector.layout.node_of(vector.rank) == root_node;
  if (at_root) {
    // Within the root's node all ranks can read the whole vector at once.
    if (vector.rank != vector.root) {
      steps.receive(vector.root, steps.all(), broadcast.home);
    } else {
      for (std::size_t lane = 0; lane < lanes.count(); ++lane) {
        if (lane != lanes.mine()) {
          steps.send(lanes.here(lane), steps.all());
        }
      }
    }
  }
  if (lanes.mine() < lanes.count()) {
    tree_broadcast(steps, lanes.between(lanes.mine()), static_cast<std::size_t>(root_node),
                   gathering(tuning.factors_between), Blocks{lanes.mine()}, broadcast.home);
  }
  if (at_root) {
    if (vector.rank == vector.root) {
      for (const int rank : lanes.node().members) {
        if (lanes.here(lanes.lane_of(rank)) != rank) {
          steps.send(rank, steps.all());
        }
      }
    }
    return std::move(broadcast).finish();
  }
  share_from_lanes(
      steps, lanes, [](std::size_t lane, int /*to*/) { return Blocks{lane}; }, broadcast.home);
  return std::move(broadcast).finish();
}

Program bcast_hierarchical(const DistributedVector& vector, const Tuning& tuning) {
  const Lanes lanes(vector, 1, vector.root);
  const auto nodes = static_cast<std::size_t>(vector.layout.nodes());
  const bool scatters = !dividing(tuning.factors_between).empty();
  Broadcast broadcast(vector, tuning, scatters ? nodes - 1 : 1);
  VectorSteps& steps = broadcast.steps;
  if (lanes.node().me == lanes.head()) {
    const auto root_node = static_cast<std::size_t>(vector.layout.node_of(vector.root));
    if (scatters) {
      scatter_allgather(steps, lanes.between(0), root_node, tuning.factors_between, broadcast.home);
    } else {
      tree_broadcast(steps, lanes.between(0), root_node, gathering(tuning.factors_between), steps.all(),
                     broadcast.home);
    }
  }
  tree_broadcast(steps, lanes.node(), lanes.head(), gathering(tuning.factors_within), steps.all(), broadcast.home);
  return std::move(broadcast).finish();
}

Program allgather_exchange(const DistributedVector& vector, const Tuning& tuning) {
  Gathering gathering_of_all(vector, true);
  exchange_allgather(gathering_of_all.steps, all_ranks(vector), gathering(tuning.factors),
                     static_cast<std::size_t>(vector.layout.ranks()), own_block, gathering_of_all.home);
  return std::move(gathering_of_all).finish();
}

Program allgather_cyclic(const DistributedVector& vector, const Tuning& tuning) {
  Gathering gathering_of_all(vector, true);
  cyclic_allgather(gathering_of_all.steps, all_ranks(vector), gathering(tuning.factors), own_block,
                   gathering_of_all.home);
  return std::move(gathering_of_all).finish();
}

Program allgather_ring(const DistributedVector& vector, const Tuning& /*tuning*/) {
  Gathering gathering_of_all(vector, true);
  ring_allgather(gathering_of_all.steps, all_ranks(vector), own_block, gathering_of_all.home);
  return std::move(gathering_of_all).finish();
}

Program allgather_neighbor(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  if (group.size() % 2 == 1) {
    return allgather_ring(vector, tuning);
  }
  Gathering gathering_of_all(vector, true);
  neighbor_allgather(gathering_of_all.steps, group, own_block, gathering_of_all.home);
  return std::move(gathering_of_all).finish();
}

Program allgather_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  const Lanes lanes(vector, tuning.lanes);
  const topology::Layout& layout = vector.layout;
  Gathering gathering_of_all(vector, true);
  VectorSteps& steps = gathering_of_all.steps;
  const Home& home = gathering_of_all.home;
  const int node = layout.node_of(vector.rank);
  const auto of_lane = [&](int on_node) { return lanes.blocks_of(lanes.mine(), layout.node_ranks(on_node)); };
  const std::size_t acts = lanes.lane_of(vector.rank);
  const auto own = static_cast<std::size_t>(vector.rank);
  if (lanes.mine() == lanes.count()) {
    steps.send(lanes.here(acts), Blocks{own});
  } else {
    for (const std::size_t block : of_lane(node)) {
      if (block != own) {
        steps.receive(static_cast<int>(block), Blocks{block}, home);
      }
    }
    allgather(
        steps, lanes.between(lanes.mine()), tuning.factors_between,
        [&](std::size_t member) { return of_lane(static_cast<int>(member)); }, home);
  }
  // Every rank has its own block already.
  const Group all = all_ranks(vector);
  const auto from_lane = [&](std::size_t lane, int to) {
    Blocks blocks = lanes.blocks_of(lane, all.members);
    std::erase(blocks, static_cast<std::size_t>(to));
    return blocks;
  };
  share_from_lanes(steps, lanes, from_lane, home);
  return std::move(gathering_of_all).finish();
}

Program gather_tree(const DistributedVector& vector, const Tuning& tuning) {
  Gathering to_root(vector, vector.rank == vector.root);
  tree_gather(to_root.steps, all_ranks(vector), root_of(vector), dividing(tuning.factors), own_block, to_root.home);
  return std::move(to_root).finish();
}

Program gather_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  const Lanes lanes(vector, 1, vector.root);
  const topology::Layout& layout = vector.layout;
  Gathering to_root(vector, vector.rank == vector.root);
  const std::size_t me = lanes.node().me;
  const std::size_t head = lanes.head();
  const std::vector<std::size_t> all{lanes.node().size()};
  if (lanes.node().size() > 1) {
    tree_gather(
        to_root.steps, lanes.node(), head, all,
        [&](std::size_t member) { return Blocks{static_cast<std::size_t>(lanes.node().members[member])}; },
        to_root.home);
  }
  if (me == head) {
    tree_gather(
        to_root.steps, lanes.between(0), static_cast<std::size_t>(layout.node_of(vector.root)),
        dividing(tuning.factors_between), [&](std::size_t node) { return blocks_of_node(layout, node); }, to_root.home);
  }
  return std::move(to_root).finish();
}

Program scatter_tree(const DistributedVector& vector, const Tuning& tuning) {
  Scattering from_root(vector);
  tree_scatter(from_root.steps, all_ranks(vector), root_of(vector), gathering(tuning.factors), own_block,
               from_root.steps.aside(), from_root.own_home);
  return std::move(from_root).finish();
}

Program scatter_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  const Lanes lanes(vector, 1, vector.root);
  const topology::Layout& layout = vector.layout;
  Scattering from_root(vector);
  VectorSteps& steps = from_root.steps;
  const auto of_node = [&](std::size_t node) { return blocks_of_node(layout, node); };
  if (lanes.mine() == 0) {
    const bool alone = lanes.node().size() == 1;
    tree_scatter(steps, lanes.between(0), static_cast<std::size_t>(layout.node_of(vector.root)),
                 gathering(tuning.factors_between), of_node, steps.aside(), alone ? from_root.own_home : steps.aside());
    for (const int rank : lanes.node().members) {
      if (rank != vector.rank) {
        steps.send(rank, Blocks{static_cast<std::size_t>(rank)});
      }
    }
  } else {
    steps.receive(lanes.here(0), Blocks{static_cast<std::size_t>(vector.rank)}, from_root.own_home);
  }
  return std::move(from_root).finish();
}

} // namespace stoker::algos
