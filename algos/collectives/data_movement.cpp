// SPDX-License-Identifier: BSD-3-Clause
// bcast, allgather, gather, scatter and barrier.
#include "algos/collectives/vector_algorithms.hpp"

#include "algos/collectives/chain.hpp"
#include "algos/collectives/lanes.hpp"
#include "algos/collectives/multi_radix.hpp"

#include <algorithm>
#include <utility>

namespace stoker::algos {

namespace {

Blocks own_block(std::size_t member) { return {member}; }

std::size_t root_of(const DistributedVector& vector) { return static_cast<std::size_t>(vector.root); }

// ---- bcast ----

class Broadcast {
public:
  Broadcast(const DistributedVector& vector, const Tuning& tuning, std::size_t parts)
      : bytes_(vector.sizes.front()),
        builder_(vector.rank, vector.layout.ranks(), vector.rank == vector.root ? bytes_ : 0,
                 vector.rank == vector.root ? 0 : bytes_),
        steps(builder_, vector,
              cut(bytes_, parts, vector.element_bytes,
                  {static_cast<std::uint64_t>(tuning.part_bytes), static_cast<std::uint64_t>(tuning.fixed_bytes)})),
        home(steps.whole(vector.rank == vector.root ? Buffer::send : Buffer::recv)) {
    if (vector.rank == vector.root) {
      steps.begin_at(steps.all(), home);
    }
  }
  [[nodiscard]] Program finish() && { return std::move(builder_).finish(); }

private:
  std::uint64_t bytes_;
  Builder builder_;

public:
  VectorSteps steps;
  Home home; // of this rank's one buffer
};

// ---- allgather, gather, scatter ----

// The end of the blocks in the buffer that holds them all.
std::uint64_t reach(const DistributedVector& vector) {
  std::uint64_t end = 0;
  for (std::size_t block = 0; block < vector.sizes.size(); ++block) {
    end = vector.sizes[block] == 0 ? end : std::max(end, vector.offsets[block] + vector.sizes[block]);
  }
  return end;
}

// A program that moves the ranks' blocks.
class Movement {
public:
  Movement(const DistributedVector& vector, std::uint64_t send_bytes, std::uint64_t recv_bytes)
      : builder_(vector.rank, vector.layout.ranks(), send_bytes, recv_bytes),
        steps(builder_, vector, block_cuts(vector)) {}
  [[nodiscard]] Program finish() && { return std::move(builder_).finish(); }

private:
  Builder builder_;

public:
  VectorSteps steps;
};

Home at_zero(const DistributedVector& vector, Buffer buffer) {
  return VectorSteps::at(buffer, std::vector<std::uint64_t>(vector.sizes.size(), 0));
}

// Ranks that receive all blocks have theirs at its place in the end; the others in the send buffer.
class Gathering {
public:
  Gathering(const DistributedVector& vector, bool receives)
      : call_(vector), movement_(vector, vector.in_place ? 0 : vector.sizes[own()], receives ? reach(vector) : 0),
        steps(movement_.steps),
        home(receives ? VectorSteps::at(Buffer::recv, vector.offsets) : movement_.steps.aside()), receives_(receives) {
    steps.begin_at(Blocks{own()}, vector.in_place ? home : at_zero(vector, Buffer::send));
  }
  [[nodiscard]] Program finish() && {
    if (receives_) {
      steps.settle(Blocks{own()}, home);
    }
    return std::move(movement_).finish();
  }

private:
  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(call_.rank); }

  const DistributedVector& call_;
  Movement movement_;

public:
  VectorSteps& steps;
  Home home; // where blocks arrive

private:
  bool receives_;
};

class Scattering {
public:
  explicit Scattering(const DistributedVector& vector)
      : call_(vector), movement_(vector, is_root() ? reach(vector) : 0, vector.in_place ? 0 : vector.sizes[own()]),
        steps(movement_.steps), own_home(at_zero(vector, Buffer::recv)) {
    if (is_root()) {
      steps.begin_at(steps.all(), VectorSteps::at(Buffer::send, vector.offsets));
    }
  }
  [[nodiscard]] Program finish() && {
    if (!call_.in_place) {
      steps.settle(Blocks{own()}, own_home);
    }
    return std::move(movement_).finish();
  }

private:
  [[nodiscard]] bool is_root() const { return call_.rank == call_.root; }
  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(call_.rank); }

  const DistributedVector& call_;
  Movement movement_;

public:
  VectorSteps& steps;
  Home own_home;
};

Blocks blocks_where(const DistributedVector& vector, const auto& condition) {
  Blocks blocks;
  for (int rank = 0; rank < vector.layout.ranks(); ++rank) {
    if (condition(rank)) {
      blocks.push_back(static_cast<std::size_t>(rank));
    }
  }
  return blocks;
}

} // namespace

Program bcast_tree(const DistributedVector& vector, const Tuning& tuning) {
  Broadcast broadcast(vector, tuning, 1);
  tree_broadcast(broadcast.steps, all_ranks(vector), root_of(vector), gathering(tuning.factors), broadcast.steps.all(),
                 broadcast.home);
  return std::move(broadcast).finish();
}

Program bcast_scatter(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  Broadcast broadcast(vector, tuning, group.size());
  VectorSteps& steps = broadcast.steps;
  if (vector.rank == vector.root) {
    for (std::size_t i = 1; i < group.size(); ++i) {
      const std::size_t member = (group.me + i) % group.size();
      steps.send(group.members[member], Blocks{member});
    }
  } else {
    steps.receive(vector.root, Blocks{group.me}, broadcast.home);
  }
  // The root has all parts already, and would have to receive into the buffer that it sends from. It only gives its own
  // part.
  Group others;
  for (std::size_t member = 0; member < group.size(); ++member) {
    if (member != root_of(vector)) {
      others.me = member == group.me ? others.size() : others.me;
      others.members.push_back(group.members[member]);
    }
  }
  if (vector.rank == vector.root) {
    for (const int member : others.members) {
      steps.send(member, Blocks{group.me});
    }
    return std::move(broadcast).finish();
  }
  steps.receive(vector.root, Blocks{root_of(vector)}, broadcast.home);
  const auto part_of = [&](std::size_t member) { return Blocks{static_cast<std::size_t>(others.members[member])}; };
  cyclic_allgather(steps, others, gathering(cyclic_factors(others.size(), Signs::gathering)), part_of, broadcast.home);
  return std::move(broadcast).finish();
}

Program bcast_chain(const DistributedVector& vector, const Tuning& tuning) {
  const Chain chain = chain_of(vector);
  Broadcast broadcast(vector, tuning, segments_of(vector, tuning));
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

Program allgather_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  const Lanes lanes(vector, tuning.lanes);
  const topology::Layout& layout = vector.layout;
  Gathering gathering_of_all(vector, true);
  VectorSteps& steps = gathering_of_all.steps;
  const Home& home = gathering_of_all.home;
  const int node = layout.node_of(vector.rank);
  const auto of_lane = [&](std::size_t lane, int on_node) {
    return blocks_where(vector,
                        [&](int rank) { return lanes.lane_of(rank) == lane && layout.node_of(rank) == on_node; });
  };
  const std::size_t acts = lanes.lane_of(vector.rank);
  const auto own = static_cast<std::size_t>(vector.rank);
  if (lanes.mine() == lanes.count()) {
    steps.send(lanes.here(acts), Blocks{own});
  } else {
    for (const std::size_t block : of_lane(lanes.mine(), node)) {
      if (block != own) {
        steps.receive(static_cast<int>(block), Blocks{block}, home);
      }
    }
    allgather(
        steps, lanes.between(lanes.mine()), tuning.factors_between,
        [&](std::size_t member) { return of_lane(lanes.mine(), static_cast<int>(member)); }, home);
  }
  // Every rank has its own block already.
  const auto from_lane = [&](std::size_t lane, int to) {
    return blocks_where(vector, [&](int rank) { return lanes.lane_of(rank) == lane && rank != to; });
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
  const auto head = static_cast<std::size_t>(layout.local_index(lanes.here(0)));
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
        dividing(tuning.factors_between),
        [&](std::size_t node) {
          return blocks_where(vector, [&](int rank) { return layout.node_of(rank) == static_cast<int>(node); });
        },
        to_root.home);
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
  const auto of_node = [&](std::size_t node) {
    return blocks_where(vector, [&](int rank) { return layout.node_of(rank) == static_cast<int>(node); });
  };
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

// ---- barrier ----

namespace {

class Barrier {
public:
  explicit Barrier(const DistributedVector& vector)
      : builder_(vector.rank, vector.layout.ranks(), 0, 0), steps(builder_, vector, {0}) {}
  [[nodiscard]] Program finish() && { return std::move(builder_).finish(); }

private:
  Builder builder_;

public:
  VectorSteps steps;
};

// Hensgen, Finkel and Manber's dissemination with any radix.
void disseminate(VectorSteps& steps, const Group& group, std::span<const std::size_t> factors) {
  std::size_t held = 1;
  for (const std::size_t factor : factors) {
    const std::size_t after = std::min(held * factor, group.size());
    for (std::size_t j = 1; j * held < after; ++j) {
      steps.signal(group.members[(group.me + group.size() - (j * held)) % group.size()]);
    }
    for (std::size_t j = 1; j * held < after; ++j) {
      steps.await(group.members[(group.me + (j * held)) % group.size()]);
    }
    held = after;
  }
}

} // namespace

Program barrier_cyclic(const DistributedVector& vector, const Tuning& tuning) {
  Barrier barrier(vector);
  disseminate(barrier.steps, all_ranks(vector), gathering(tuning.factors));
  return std::move(barrier).finish();
}

Program barrier_tree(const DistributedVector& vector, const Tuning& /*tuning*/) {
  Barrier barrier(vector);
  // Children 4i + 1 to 4i + 4.
  constexpr int arity = 4;
  const int ranks = vector.layout.ranks();
  const auto for_children = [&](auto visit) {
    for (int child = (arity * vector.rank) + 1; child <= (arity * vector.rank) + arity && child < ranks; ++child) {
      visit(child);
    }
  };
  for_children([&](int child) { barrier.steps.await(child); });
  if (vector.rank > 0) {
    const int parent = (vector.rank - 1) / arity;
    barrier.steps.signal(parent);
    barrier.steps.await(parent);
  }
  for_children([&](int child) { barrier.steps.signal(child); });
  return std::move(barrier).finish();
}

Program barrier_node_aware(const DistributedVector& vector, const Tuning& tuning) {
  Barrier barrier(vector);
  const Lanes lanes(vector, 1);
  if (lanes.mine() != 0) {
    barrier.steps.signal(lanes.here(0));
    barrier.steps.await(lanes.here(0));
    return std::move(barrier).finish();
  }
  const auto for_others = [&](auto visit) {
    for (const int rank : lanes.node().members) {
      if (rank != vector.rank) {
        visit(rank);
      }
    }
  };
  for_others([&](int rank) { barrier.steps.await(rank); });
  disseminate(barrier.steps, lanes.between(0), gathering(tuning.factors_between));
  for_others([&](int rank) { barrier.steps.signal(rank); });
  return std::move(barrier).finish();
}

} // namespace stoker::algos
