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

std::size_t root_of(const VectorCall& call) { return static_cast<std::size_t>(call.root); }

// ---- bcast ----

class Broadcast {
public:
  Broadcast(const VectorCall& call, const Tuning& tuning, std::size_t parts)
      : bytes_(call.sizes.front()), builder_(call.rank, call.layout.ranks(), call.rank == call.root ? bytes_ : 0,
                                             call.rank == call.root ? 0 : bytes_),
        steps(builder_, call,
              cut(bytes_, parts, call.element_bytes,
                  {static_cast<std::uint64_t>(tuning.part_bytes), static_cast<std::uint64_t>(tuning.fixed_bytes)})),
        home(steps.whole(call.rank == call.root ? Buffer::send : Buffer::recv)) {
    if (call.rank == call.root) {
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

// How far the blocks reach into the buffer that holds them all.
std::uint64_t reach(const VectorCall& call) {
  std::uint64_t end = 0;
  for (std::size_t block = 0; block < call.sizes.size(); ++block) {
    end = call.sizes[block] == 0 ? end : std::max(end, call.offsets[block] + call.sizes[block]);
  }
  return end;
}

// A program that moves the ranks' blocks.
class Movement {
public:
  Movement(const VectorCall& call, std::uint64_t send_bytes, std::uint64_t recv_bytes)
      : builder_(call.rank, call.layout.ranks(), send_bytes, recv_bytes), steps(builder_, call, block_cuts(call)) {}
  [[nodiscard]] Program finish() && { return std::move(builder_).finish(); }

private:
  Builder builder_;

public:
  VectorSteps steps;
};

Home at_zero(const VectorCall& call, Buffer buffer) {
  return VectorSteps::at(buffer, std::vector<std::uint64_t>(call.sizes.size(), 0));
}

// Ranks that receive all blocks have theirs at its place in the end; the others in the send buffer.
class Gathering {
public:
  Gathering(const VectorCall& call, bool receives)
      : call_(call), movement_(call, call.in_place ? 0 : call.sizes[own()], receives ? reach(call) : 0),
        steps(movement_.steps), home(receives ? VectorSteps::at(Buffer::recv, call.offsets) : movement_.steps.aside()),
        receives_(receives) {
    steps.begin_at(Blocks{own()}, call.in_place ? home : at_zero(call, Buffer::send));
  }
  [[nodiscard]] Program finish() && {
    if (receives_) {
      steps.settle(Blocks{own()}, home);
    }
    return std::move(movement_).finish();
  }

private:
  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(call_.rank); }

  const VectorCall& call_;
  Movement movement_;

public:
  VectorSteps& steps;
  Home home; // where blocks arrive

private:
  bool receives_;
};

class Scattering {
public:
  explicit Scattering(const VectorCall& call)
      : call_(call), movement_(call, is_root() ? reach(call) : 0, call.in_place ? 0 : call.sizes[own()]),
        steps(movement_.steps), own_home(at_zero(call, Buffer::recv)) {
    if (is_root()) {
      steps.begin_at(steps.all(), VectorSteps::at(Buffer::send, call.offsets));
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

  const VectorCall& call_;
  Movement movement_;

public:
  VectorSteps& steps;
  Home own_home;
};

Blocks blocks_where(const VectorCall& call, const auto& condition) {
  Blocks blocks;
  for (int rank = 0; rank < call.layout.ranks(); ++rank) {
    if (condition(rank)) {
      blocks.push_back(static_cast<std::size_t>(rank));
    }
  }
  return blocks;
}

} // namespace

Program bcast_tree(const VectorCall& call, const Tuning& tuning) {
  Broadcast broadcast(call, tuning, 1);
  tree_broadcast(broadcast.steps, all_ranks(call), root_of(call), gathering(tuning.factors), broadcast.steps.all(),
                 broadcast.home);
  return std::move(broadcast).finish();
}

Program bcast_scatter(const VectorCall& call, const Tuning& tuning) {
  const Group group = all_ranks(call);
  Broadcast broadcast(call, tuning, group.size());
  VectorSteps& steps = broadcast.steps;
  if (call.rank == call.root) {
    for (std::size_t i = 1; i < group.size(); ++i) {
      const std::size_t member = (group.me + i) % group.size();
      steps.send(group.members[member], Blocks{member});
    }
  } else {
    steps.receive(call.root, Blocks{group.me}, broadcast.home);
  }
  // The root has all parts already and would have to receive into what it sends: it only gives its own.
  Group others;
  for (std::size_t member = 0; member < group.size(); ++member) {
    if (member != root_of(call)) {
      others.me = member == group.me ? others.size() : others.me;
      others.members.push_back(group.members[member]);
    }
  }
  if (call.rank == call.root) {
    for (const int member : others.members) {
      steps.send(member, Blocks{group.me});
    }
    return std::move(broadcast).finish();
  }
  steps.receive(call.root, Blocks{root_of(call)}, broadcast.home);
  const auto part_of = [&](std::size_t member) { return Blocks{static_cast<std::size_t>(others.members[member])}; };
  cyclic_allgather(steps, others, gathering(cyclic_factors(others.size(), Signs::gathering)), part_of, broadcast.home);
  return std::move(broadcast).finish();
}

Program bcast_chain(const VectorCall& call, const Tuning& tuning) {
  const Chain chain = chain_of(call);
  Broadcast broadcast(call, tuning, segments_of(call, tuning));
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

Program bcast_node_aware(const VectorCall& call, const Tuning& tuning) {
  const Lanes lanes(call, tuning.lanes, call.root);
  Broadcast broadcast(call, tuning, lanes.count());
  VectorSteps& steps = broadcast.steps;
  const int root_node = call.layout.node_of(call.root);
  const bool at_root = call.layout.node_of(call.rank) == root_node;
  if (at_root) {
    // Within the root's node all is there for everybody at once.
    if (call.rank != call.root) {
      steps.receive(call.root, steps.all(), broadcast.home);
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
    if (call.rank == call.root) {
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

Program allgather_exchange(const VectorCall& call, const Tuning& tuning) {
  Gathering gathering_of_all(call, true);
  exchange_allgather(gathering_of_all.steps, all_ranks(call), gathering(tuning.factors),
                     static_cast<std::size_t>(call.layout.ranks()), own_block, gathering_of_all.home);
  return std::move(gathering_of_all).finish();
}

Program allgather_cyclic(const VectorCall& call, const Tuning& tuning) {
  Gathering gathering_of_all(call, true);
  cyclic_allgather(gathering_of_all.steps, all_ranks(call), gathering(tuning.factors), own_block,
                   gathering_of_all.home);
  return std::move(gathering_of_all).finish();
}

Program allgather_node_aware(const VectorCall& call, const Tuning& tuning) {
  const Lanes lanes(call, tuning.lanes);
  const topology::Layout& layout = call.layout;
  Gathering gathering_of_all(call, true);
  VectorSteps& steps = gathering_of_all.steps;
  const Home& home = gathering_of_all.home;
  const int node = layout.node_of(call.rank);
  const auto of_lane = [&](std::size_t lane, int on_node) {
    return blocks_where(call, [&](int rank) { return lanes.lane_of(rank) == lane && layout.node_of(rank) == on_node; });
  };
  const std::size_t acts = lanes.lane_of(call.rank);
  const auto own = static_cast<std::size_t>(call.rank);
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
  // Everybody has its own block already.
  const auto from_lane = [&](std::size_t lane, int to) {
    return blocks_where(call, [&](int rank) { return lanes.lane_of(rank) == lane && rank != to; });
  };
  share_from_lanes(steps, lanes, from_lane, home);
  return std::move(gathering_of_all).finish();
}

Program gather_tree(const VectorCall& call, const Tuning& tuning) {
  Gathering to_root(call, call.rank == call.root);
  tree_gather(to_root.steps, all_ranks(call), root_of(call), dividing(tuning.factors), own_block, to_root.home);
  return std::move(to_root).finish();
}

Program gather_node_aware(const VectorCall& call, const Tuning& tuning) {
  const Lanes lanes(call, 1, call.root);
  const topology::Layout& layout = call.layout;
  Gathering to_root(call, call.rank == call.root);
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
        to_root.steps, lanes.between(0), static_cast<std::size_t>(layout.node_of(call.root)),
        dividing(tuning.factors_between),
        [&](std::size_t node) {
          return blocks_where(call, [&](int rank) { return layout.node_of(rank) == static_cast<int>(node); });
        },
        to_root.home);
  }
  return std::move(to_root).finish();
}

Program scatter_tree(const VectorCall& call, const Tuning& tuning) {
  Scattering from_root(call);
  tree_scatter(from_root.steps, all_ranks(call), root_of(call), gathering(tuning.factors), own_block,
               from_root.steps.aside(), from_root.own_home);
  return std::move(from_root).finish();
}

Program scatter_node_aware(const VectorCall& call, const Tuning& tuning) {
  const Lanes lanes(call, 1, call.root);
  const topology::Layout& layout = call.layout;
  Scattering from_root(call);
  VectorSteps& steps = from_root.steps;
  const auto of_node = [&](std::size_t node) {
    return blocks_where(call, [&](int rank) { return layout.node_of(rank) == static_cast<int>(node); });
  };
  if (lanes.mine() == 0) {
    const bool alone = lanes.node().size() == 1;
    tree_scatter(steps, lanes.between(0), static_cast<std::size_t>(layout.node_of(call.root)),
                 gathering(tuning.factors_between), of_node, steps.aside(), alone ? from_root.own_home : steps.aside());
    for (const int rank : lanes.node().members) {
      if (rank != call.rank) {
        steps.send(rank, Blocks{static_cast<std::size_t>(rank)});
      }
    }
  } else {
    steps.receive(lanes.here(0), Blocks{static_cast<std::size_t>(call.rank)}, from_root.own_home);
  }
  return std::move(from_root).finish();
}

// ---- barrier ----

namespace {

class Barrier {
public:
  explicit Barrier(const VectorCall& call)
      : builder_(call.rank, call.layout.ranks(), 0, 0), steps(builder_, call, {0}) {}
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

Program barrier_cyclic(const VectorCall& call, const Tuning& tuning) {
  Barrier barrier(call);
  disseminate(barrier.steps, all_ranks(call), gathering(tuning.factors));
  return std::move(barrier).finish();
}

Program barrier_tree(const VectorCall& call, const Tuning& /*tuning*/) {
  Barrier barrier(call);
  // Children 4i + 1 to 4i + 4.
  constexpr int arity = 4;
  const int ranks = call.layout.ranks();
  const auto for_children = [&](auto visit) {
    for (int child = (arity * call.rank) + 1; child <= (arity * call.rank) + arity && child < ranks; ++child) {
      visit(child);
    }
  };
  for_children([&](int child) { barrier.steps.await(child); });
  if (call.rank > 0) {
    const int parent = (call.rank - 1) / arity;
    barrier.steps.signal(parent);
    barrier.steps.await(parent);
  }
  for_children([&](int child) { barrier.steps.signal(child); });
  return std::move(barrier).finish();
}

Program barrier_node_aware(const VectorCall& call, const Tuning& tuning) {
  Barrier barrier(call);
  const Lanes lanes(call, 1);
  if (lanes.mine() != 0) {
    barrier.steps.signal(lanes.here(0));
    barrier.steps.await(lanes.here(0));
    return std::move(barrier).finish();
  }
  const auto for_others = [&](auto visit) {
    for (const int rank : lanes.node().members) {
      if (rank != call.rank) {
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
