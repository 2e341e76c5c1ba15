// SPDX-License-Identifier: BSD-3-Clause
// allreduce, reduce and reduce_scatter.
#include "algos/collectives/vector_algorithms.hpp"

#include "algos/collectives/chain.hpp"
#include "algos/collectives/lanes.hpp"
#include "algos/collectives/multi_radix.hpp"
#include "algos/collectives/rings.hpp"
#include "algos/collectives/vector_programs.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

namespace stoker::algos {

namespace {

Program finish_in_place_of_result(Reduction&& reduction) {
  reduction.steps.settle(reduction.steps.all(), reduction.result);
  return std::move(reduction).finish();
}

// Sends each member's part to the root, which has its own part.
void gather_parts(VectorSteps& steps, const Group& group, std::size_t root, const Home& home) {
  if (group.me != root) {
    steps.send(group.members[root], Blocks{group.me});
    return;
  }
  steps.settle(Blocks{root}, home);
  for (std::size_t member = 0; member < group.size(); ++member) {
    if (member != root) {
      steps.receive(group.members[member], Blocks{member}, home);
    }
  }
}

// Reduces within a node: each lane ends with its part, reduced over the node. `parts`: those of one lane.
Blocks reduce_to_lanes(VectorSteps& steps, const Lanes& lanes, const std::function<Blocks(std::size_t lane)>& blocks_of,
                       const Home& home) {
  for (std::size_t i = 0; i < lanes.count(); ++i) {
    const std::size_t lane = (i + std::min(lanes.mine(), lanes.count() - 1)) % lanes.count();
    if (lane != lanes.mine()) {
      steps.send(lanes.here(lane), blocks_of(lane));
    }
  }
  if (lanes.mine() == lanes.count()) {
    return {};
  }
  Blocks mine = blocks_of(lanes.mine());
  steps.reduce_here(lanes.node(), mine, home);
  return mine;
}

} // namespace

// ---- allreduce ----

Program allreduce_exchange(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  const Phases phases = phases_of(tuning.factors, group.size());
  Reduction reduction = allreduction(vector, tuning, phases.parts());
  exchange_allreduce(reduction.steps, group, phases, 0, reduction.result);
  return finish_in_place_of_result(std::move(reduction));
}

Program allreduce_cyclic(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  const CyclicPhases phases = cyclic_phases_of(tuning.factors, group.size()).value();
  Reduction reduction = allreduction(vector, tuning, phases.parts);
  cyclic_allreduce(reduction.steps, group, phases, 0, reduction.result);
  return std::move(reduction).finish();
}

Program allreduce_tree(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  Reduction reduction = allreduction(vector, tuning, 1);
  tree_reduce(reduction.steps, group, 0, dividing(tuning.factors), reduction.steps.all(), reduction.result);
  if (group.me == 0) {
    reduction.steps.settle(reduction.steps.all(), reduction.result);
  }
  tree_broadcast(reduction.steps, group, 0, gathering(tuning.factors), reduction.steps.all(), reduction.result);
  return std::move(reduction).finish();
}

Program allreduce_copy_in(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  Reduction reduction = allreduction(vector, tuning, group.size());
  ring_reduce_scatter(reduction.steps, group, reduction.result);
  reduction.steps.settle(Blocks{group.me}, reduction.result);
  const std::vector<std::size_t> all{group.size()};
  cyclic_allgather(reduction.steps, group, group.size() > 1 ? all : std::vector<std::size_t>{}, own_block,
                   reduction.result);
  return std::move(reduction).finish();
}

Program allreduce_ring(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  Reduction reduction = allreduction(vector, tuning, group.size());
  ring_reduce_scatter(reduction.steps, group, reduction.result);
  reduction.steps.settle(Blocks{group.me}, reduction.result);
  ring_allgather(reduction.steps, group, own_block, reduction.result);
  return std::move(reduction).finish();
}

Program allreduce_building_blocks(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  Reduction reduction = allreduction(vector, tuning, product(dividing(tuning.factors)));
  folded_allreduce(reduction.steps, group, tuning.factors, 0, reduction.result);
  return finish_in_place_of_result(std::move(reduction));
}

namespace {

// A list between nodes may be one for cyclic shift, which takes operands in any order.
FactorList given_or_exchange(const DistributedVector& vector, const FactorList& given) {
  const auto nodes = static_cast<std::size_t>(vector.layout.nodes());
  if (vector.commutative || exchange_defect(given, nodes, Signs::both).empty() ||
      folded_defect(given, nodes, Signs::both).empty()) {
    return given;
  }
  const FactorList exchange = exchange_factors(nodes, Signs::both);
  if (given == exchange_or_cyclic_factors(nodes, Signs::both)) { // it is the preset
    return exchange;
  }
  throw std::invalid_argument("between=" + to_text(given) +
                              " is for cyclic shift, but the operation is not "
                              "commutative; expected, for example, " +
                              to_text(exchange));
}

} // namespace

Program allreduce_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  check_order(vector);
  const Lanes lanes(vector, tuning.lanes);
  const FactorList factors = given_or_exchange(vector, tuning.factors_between);
  const std::size_t parts = allreduce_parts(factors, static_cast<std::size_t>(vector.layout.nodes()));
  Reduction reduction = allreduction(vector, tuning, lanes.count() * parts);
  const auto blocks_of = [&](std::size_t lane) { return block_range(lane * parts, (lane + 1) * parts); };
  const Blocks mine = reduce_to_lanes(reduction.steps, lanes, blocks_of, reduction.result);
  if (!mine.empty()) {
    allreduce(reduction.steps, lanes.between(lanes.mine()), factors, mine.front(), reduction.result);
    reduction.steps.settle(mine, reduction.result);
  }
  share_from_lanes(
      reduction.steps, lanes, [&](std::size_t lane, int /*to*/) { return blocks_of(lane); }, reduction.result);
  return std::move(reduction).finish();
}

Program allreduce_hierarchical(const DistributedVector& vector, const Tuning& tuning) {
  check_order(vector);
  const Lanes lanes(vector, 1);
  const FactorList factors = given_or_exchange(vector, tuning.factors_between);
  Reduction reduction =
      allreduction(vector, tuning, allreduce_parts(factors, static_cast<std::size_t>(vector.layout.nodes())));
  VectorSteps& steps = reduction.steps;
  tree_reduce(steps, lanes.node(), lanes.head(), dividing(tuning.factors_within), steps.all(), reduction.result);
  if (lanes.node().me == lanes.head()) {
    allreduce(steps, lanes.between(0), factors, 0, reduction.result);
    steps.settle(steps.all(), reduction.result);
  }
  tree_broadcast(steps, lanes.node(), lanes.head(), gathering(tuning.factors_within), steps.all(), reduction.result);
  return std::move(reduction).finish();
}

// ---- reduce ----

Program reduce_exchange(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  Reduction reduction = reduction_to_root(vector, tuning, group.size());
  exchange_reduce_scatter(reduction.steps, group, dividing(tuning.factors), 0, PartOrder::by_member,
                          [&](bool /*last*/) -> const Home& { return reduction.result; });
  gather_parts(reduction.steps, group, static_cast<std::size_t>(vector.root), reduction.result);
  return std::move(reduction).finish();
}

Program reduce_cyclic(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  Reduction reduction = reduction_to_root(vector, tuning, group.size());
  cyclic_reduce_scatter(reduction.steps, group, dividing(tuning.factors), own_block, reduction.result);
  gather_parts(reduction.steps, group, static_cast<std::size_t>(vector.root), reduction.result);
  return std::move(reduction).finish();
}

Program reduce_tree(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  Reduction reduction = reduction_to_root(vector, tuning, 1);
  tree_reduce(reduction.steps, group, static_cast<std::size_t>(vector.root), dividing(tuning.factors),
              reduction.steps.all(), reduction.result);
  if (vector.rank == vector.root) {
    reduction.steps.settle(reduction.steps.all(), reduction.result);
  }
  return std::move(reduction).finish();
}

Program reduce_chain(const DistributedVector& vector, const Tuning& tuning) {
  const Chain chain = chain_of(vector);
  Reduction reduction = reduction_to_root(
      vector, tuning, segments_of(vector, tuning, static_cast<std::size_t>(vector.layout.ranks()) - 1));
  for (const std::size_t segment : reduction.steps.all()) {
    if (chain.behind >= 0) {
      reduction.steps.accumulate(chain.behind, Blocks{segment}, reduction.result);
    }
    if (chain.before >= 0) {
      reduction.steps.send(chain.before, Blocks{segment});
    }
  }
  if (vector.rank == vector.root) {
    reduction.steps.settle(reduction.steps.all(), reduction.result);
  }
  return std::move(reduction).finish();
}

Program reduce_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  check_order(vector);
  const Lanes lanes(vector, tuning.lanes, vector.root);
  Reduction reduction = reduction_to_root(vector, tuning, lanes.count());
  VectorSteps& steps = reduction.steps;
  const auto blocks_of = [&](std::size_t lane) { return Blocks{lane}; };
  const Blocks mine = reduce_to_lanes(steps, lanes, blocks_of, reduction.result);
  const int root_node = vector.layout.node_of(vector.root);
  if (!mine.empty()) {
    tree_reduce(steps, lanes.between(lanes.mine()), static_cast<std::size_t>(root_node),
                dividing(tuning.factors_between), mine, reduction.result);
  }
  if (vector.layout.node_of(vector.rank) != root_node) {
    return std::move(reduction).finish();
  }
  if (vector.rank != vector.root) {
    if (!mine.empty()) {
      steps.send(vector.root, mine);
    }
    return std::move(reduction).finish();
  }
  steps.settle(mine, reduction.result);
  for (std::size_t lane = 0; lane < lanes.count(); ++lane) {
    if (lane != lanes.mine()) {
      steps.receive(lanes.here(lane), blocks_of(lane), reduction.result);
    }
  }
  return std::move(reduction).finish();
}

Program reduce_hierarchical(const DistributedVector& vector, const Tuning& tuning) {
  check_order(vector);
  const Lanes lanes(vector, 1, vector.root);
  Reduction reduction = reduction_to_root(vector, tuning, 1);
  VectorSteps& steps = reduction.steps;
  tree_reduce(steps, lanes.node(), lanes.head(), dividing(tuning.factors_within), steps.all(), reduction.result);
  if (lanes.node().me == lanes.head()) {
    tree_reduce(steps, lanes.between(0), static_cast<std::size_t>(vector.layout.node_of(vector.root)),
                dividing(tuning.factors_between), steps.all(), reduction.result);
  }
  if (vector.rank == vector.root) {
    steps.settle(steps.all(), reduction.result);
  }
  return std::move(reduction).finish();
}

// ---- reduce_scatter ----

Program reduce_scatter_exchange(const DistributedVector& vector, const Tuning& tuning) {
  BlockReduction reduction(vector);
  exchange_reduce_scatter(
      reduction.steps, all_ranks(vector), dividing(tuning.factors), 0, PartOrder::by_member,
      [&](bool last) -> const Home& { return last ? reduction.last_home() : reduction.steps.aside(); });
  return std::move(reduction).finish();
}

Program reduce_scatter_cyclic(const DistributedVector& vector, const Tuning& tuning) {
  BlockReduction reduction(vector);
  cyclic_reduce_scatter(reduction.steps, all_ranks(vector), dividing(tuning.factors), own_block,
                        reduction.steps.aside());
  return std::move(reduction).finish();
}

Program reduce_scatter_ring(const DistributedVector& vector, const Tuning& /*tuning*/) {
  BlockReduction reduction(vector);
  ring_reduce_scatter(reduction.steps, all_ranks(vector), reduction.last_home());
  return std::move(reduction).finish();
}

Program reduce_scatter_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  check_order(vector);
  const Lanes lanes(vector, tuning.lanes);
  const topology::Layout& layout = vector.layout;
  BlockReduction reduction(vector);
  VectorSteps& steps = reduction.steps;
  const auto of_lane = [&](int on_node) { return lanes.blocks_of(lanes.mine(), layout.node_ranks(on_node)); };
  const Group all = all_ranks(vector);
  const Blocks mine = reduce_to_lanes(
      steps, lanes, [&](std::size_t lane) { return lanes.blocks_of(lane, all.members); }, steps.aside());
  const int node = layout.node_of(vector.rank);
  if (!mine.empty()) {
    for (int i = 1; i < lanes.nodes(); ++i) {
      const int other = (node + i) % lanes.nodes();
      steps.send(lanes.rank(lanes.mine(), other), of_lane(other));
    }
    const Blocks here = of_lane(node);
    steps.reduce_here(lanes.between(lanes.mine()), here, steps.aside());
    for (const std::size_t block : here) {
      if (block != static_cast<std::size_t>(vector.rank)) {
        steps.send(static_cast<int>(block), Blocks{block});
      }
    }
  } else {
    steps.receive(lanes.here(lanes.lane_of(vector.rank)), Blocks{static_cast<std::size_t>(vector.rank)},
                  reduction.last_home());
  }
  return std::move(reduction).finish();
}

} // namespace stoker::algos
