// SPDX-License-Identifier: BSD-3-Clause
// De Sensi et al., "Bine Trees", and "Swing", whose partners Bine trees and butterflies have. The operands that a rank
// has combined at some time are neighbours in a ring, not in a row: all of these want commutative operations.
#include "algos/collectives/vector_algorithms.hpp"

#include "algos/collectives/multi_radix.hpp"
#include "algos/collectives/power_of_two.hpp"
#include "algos/collectives/swing.hpp"
#include "algos/collectives/vector_programs.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stoker::algos {

namespace {

// Which part of a vector each member has between reduce_scatter and allgather: those of members that exchange long
// messages late are neighbours, so that most messages are in one piece.
std::vector<std::size_t> parts_by_member(const Swings& swings, std::size_t members) {
  std::vector<std::size_t> parts(members, members - 1); // the last one's where it is beside the ring
  const std::vector<std::size_t> order = swings.reached(0, 0);
  for (std::size_t part = 0; part < order.size(); ++part) {
    parts[order[part]] = part;
  }
  return parts;
}

// Allreduce of as many parts as there are members, `first` and those behind it.
void swing_allreduce(VectorSteps& steps, const Group& group, const Swings& swings, std::size_t first,
                     const Home& home) {
  const std::vector<std::size_t> parts = parts_by_member(swings, group.size());
  const auto part_of = [&](std::size_t member) { return Blocks{first + parts[member]}; };
  swing_reduce_scatter(steps, group, swings, part_of, home);
  steps.settle(part_of(group.me), home);
  swing_allgather(steps, group, swings, part_of, home);
}

} // namespace

Program allreduce_bine(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  Reduction reduction = allreduction(vector, tuning, group.size());
  swing_allreduce(reduction.steps, group, ring_of(group.size()), 0, reduction.result);
  return std::move(reduction).finish();
}

// The steps go from far to near. Then members that have combined the same operands have done so in the same order, and
// all ranks end with the same bits; from near to far each rank would have an order of its own.
Program allreduce_bine_doubling(const DistributedVector& vector, const Tuning& tuning) {
  Reduction reduction = allreduction(vector, tuning, 1);
  among_a_power_of_two(
      reduction.steps, all_ranks(vector), reduction.steps.all(), reduction.result, [&](const Group& group) {
        const Swings swings = ring_of(group.size());
        const std::size_t rounds = swings.steps();
        // The lowest of those members who have combined the same operands before a round, as `member` has.
        const auto lowest = [&](std::size_t member, std::size_t round) {
          const std::size_t stride = group.size() >> round;
          return round == 0 ? member : std::min(member % stride, swings.partner(member, rounds - 1) % stride);
        };
        const auto pair_in = [&](std::size_t round) {
          const std::size_t partner = swings.partner(group.me, rounds - 1 - round);
          const bool first = lowest(group.me, round) < lowest(partner, round);
          return group.subgroup(first ? std::array{group.me, partner} : std::array{partner, group.me});
        };
        combine_in_rounds(reduction.steps, rounds, pair_in, reduction.steps.all(), reduction.result);
      });
  return std::move(reduction).finish();
}

// The vector is cut into as many shares as a torus has links at each member. Each begins with another link, so that all
// of them are busy at the same time.
Program allreduce_swing(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  std::vector<std::size_t> dimensions = gathering(tuning.factors);
  if (dimensions.size() == 1) {
    dimensions.front() -= dimensions.front() % 2; // one may stand beside a ring
  }
  const std::size_t shares = std::max<std::size_t>(2 * dimensions.size(), 1);
  Reduction reduction = allreduction(vector, tuning, shares * group.size());
  for (std::size_t share = 0; share < shares; ++share) {
    swing_allreduce(reduction.steps, group, Swings(dimensions, share / 2, share % 2 == 1), share * group.size(),
                    reduction.result);
  }
  return std::move(reduction).finish();
}

Program reduce_bine(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  const TreePlace place = swing_tree(group, static_cast<std::size_t>(vector.root));
  Reduction reduction = reduction_to_root(vector, tuning, 1);
  VectorSteps& steps = reduction.steps;
  const std::vector<std::size_t> from_the_last(place.children.rbegin(), place.children.rend());
  for (const std::size_t child : from_the_last) {
    steps.accumulate(group.members[child], steps.all(), reduction.result);
  }
  if (place.parent) {
    steps.send(group.members[*place.parent], steps.all());
  } else {
    steps.settle(steps.all(), reduction.result);
  }
  return std::move(reduction).finish();
}

Program reduce_scatter_bine(const DistributedVector& vector, const Tuning& /*tuning*/) {
  const Group group = all_ranks(vector);
  BlockReduction reduction(vector);
  swing_reduce_scatter(reduction.steps, group, ring_of(group.size()), own_block, reduction.steps.aside());
  return std::move(reduction).finish();
}

Program bcast_bine(const DistributedVector& vector, const Tuning& tuning) {
  const Group group = all_ranks(vector);
  const TreePlace place = swing_tree(group, static_cast<std::size_t>(vector.root));
  Broadcast broadcast(vector, tuning, 1);
  if (place.parent) {
    broadcast.steps.receive(group.members[*place.parent], broadcast.steps.all(), broadcast.home);
  }
  for (const std::size_t child : place.children) {
    broadcast.steps.send(group.members[child], broadcast.steps.all());
  }
  return std::move(broadcast).finish();
}

Program allgather_bine(const DistributedVector& vector, const Tuning& /*tuning*/) {
  const Group group = all_ranks(vector);
  Gathering gathering_of_all(vector, true);
  swing_allgather(gathering_of_all.steps, group, ring_of(group.size()), own_block, gathering_of_all.home);
  return std::move(gathering_of_all).finish();
}

} // namespace stoker::algos
