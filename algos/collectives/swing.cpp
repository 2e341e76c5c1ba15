// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/swing.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace stoker::algos {

namespace {

// So many steps reach all members of a ring.
std::size_t steps_of(std::size_t size) { return static_cast<std::size_t>(std::bit_width(size - 1)); }

// rho(step), round a ring of that size.
std::size_t distance_of(std::size_t step, std::size_t size) {
  std::size_t distance = 0;
  std::size_t power = 1; // (-2)^i
  for (std::size_t i = 0; i <= step; ++i) {
    distance = (distance + power) % size;
    power = (2 * (size - power)) % size;
  }
  return distance;
}

Blocks blocks_for(const std::vector<std::size_t>& members, const BlocksOf& blocks_of) {
  Blocks blocks;
  for (const std::size_t member : members) {
    std::ranges::copy(blocks_of(member), std::back_inserter(blocks));
  }
  std::ranges::sort(blocks);
  return blocks;
}

bool has_outsider(const Group& group, const Swings& swings) { return group.size() > swings.members(); }

} // namespace

Swings::Swings(std::vector<std::size_t> dimensions, std::size_t first_dimension, bool mirrored) {
  std::vector<std::size_t> strides(dimensions.size());
  std::size_t steps = 0;
  for (std::size_t d = dimensions.size(); d-- > 0;) {
    strides[d] = std::exchange(members_, members_ * dimensions[d]);
    steps = std::max(steps, steps_of(dimensions[d]));
  }
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      const std::size_t d = (first_dimension + i) % dimensions.size();
      const std::size_t size = dimensions[d];
      if (step < steps_of(size)) {
        const std::size_t distance = distance_of(step, size);
        moves_.push_back({.size = size, .stride = strides[d], .distance = mirrored ? size - distance : distance});
      }
    }
  }
}

std::size_t Swings::partner(std::size_t member, std::size_t step) const {
  const Move& move = moves_[step];
  const std::size_t from = member / move.stride % move.size;
  const std::size_t to = (from + (from % 2 == 0 ? move.distance : move.size - move.distance)) % move.size;
  return member + (to * move.stride) - (from * move.stride);
}

std::vector<std::size_t> Swings::reached(std::size_t member, std::size_t first_step) const {
  // One place for each choice of the steps in which a message moves on, the last step changing places fastest.
  std::vector<std::size_t> ends(std::size_t{1} << (steps() - first_step), member);
  for (std::size_t step = first_step, stride = ends.size() / 2; step < steps(); ++step, stride /= 2) {
    for (std::size_t i = 0; i < ends.size(); i += 2 * stride) {
      ends[i + stride] = partner(ends[i], step);
    }
  }
  std::vector<bool> found(members_, false);
  std::vector<std::size_t> members;
  for (const std::size_t end : ends) {
    if (!found[end]) {
      found[end] = true;
      members.push_back(end);
    }
  }
  return members;
}

std::vector<std::size_t> Swings::handed_on(std::size_t member, std::size_t step) const {
  std::vector<bool> stays(members_, false);
  for (const std::size_t other : reached(member, step + 1)) {
    stays[other] = true;
  }
  std::vector<std::size_t> members = reached(partner(member, step), step + 1);
  std::erase_if(members, [&](std::size_t other) { return stays[other]; });
  return members;
}

Swings ring_of(std::size_t members) {
  return Swings(std::vector<std::size_t>(members > 1 ? 1 : 0, members - (members % 2)));
}

void swing_reduce_scatter(VectorSteps& steps, const Group& group, const Swings& swings, const BlocksOf& blocks_of,
                          const Home& home) {
  const std::size_t ring = swings.members();
  if (group.me == ring) { // beside it
    for (std::size_t member = 0; member < ring; ++member) {
      steps.send(group.members[member], blocks_of(member));
    }
    for (std::size_t member = 0; member < ring; ++member) {
      steps.accumulate(group.members[member], blocks_of(ring), home);
    }
    return;
  }
  if (has_outsider(group, swings)) {
    steps.send(group.members[ring], blocks_of(ring));
  }
  for (std::size_t step = 0; step < swings.steps(); ++step) {
    const std::size_t partner = swings.partner(group.me, step);
    steps.send(group.members[partner], blocks_for(swings.handed_on(group.me, step), blocks_of));
    steps.accumulate(group.members[partner], blocks_for(swings.handed_on(partner, step), blocks_of), home);
  }
  if (has_outsider(group, swings)) {
    steps.accumulate(group.members[ring], blocks_of(group.me), home);
  }
}

void swing_allgather(VectorSteps& steps, const Group& group, const Swings& swings, const BlocksOf& blocks_of,
                     const Home& home) {
  const std::size_t ring = swings.members();
  if (group.me == ring) {
    for (std::size_t member = 0; member < ring; ++member) {
      steps.send(group.members[member], blocks_of(ring));
    }
    for (std::size_t member = 0; member < ring; ++member) {
      steps.receive(group.members[member], blocks_of(member), home);
    }
    return;
  }
  if (has_outsider(group, swings)) {
    steps.send(group.members[ring], blocks_of(group.me));
  }
  for (std::size_t step = swings.steps(); step-- > 0;) {
    const std::size_t partner = swings.partner(group.me, step);
    steps.send(group.members[partner], blocks_for(swings.handed_on(partner, step), blocks_of));
    steps.receive(group.members[partner], blocks_for(swings.handed_on(group.me, step), blocks_of), home);
  }
  if (has_outsider(group, swings)) {
    steps.receive(group.members[ring], blocks_of(ring), home);
  }
}

TreePlace swing_tree(const Group& group, std::size_t root) {
  const std::size_t members = group.size();
  const Swings ring = ring_of(members);
  // Counted from the root, which is number 0 of the ring.
  const std::size_t me = (group.me + members - root) % members;
  const auto counted_from_first = [&](std::size_t number) { return (number + root) % members; };
  TreePlace place;
  std::vector<std::size_t> informed{0};
  std::vector<bool> found(members, false);
  found[0] = true;
  const auto inform = [&](std::size_t from, std::size_t to) { // whether it is news
    if (found[to]) {
      return false;
    }
    found[to] = true;
    if (from == me) {
      place.children.push_back(counted_from_first(to));
    } else if (to == me) {
      place.parent = counted_from_first(from);
    }
    return true;
  };
  for (std::size_t step = ring.steps(); step-- > 0;) {
    std::vector<std::size_t> more;
    for (const std::size_t member : informed) {
      if (const std::size_t partner = ring.partner(member, step); inform(member, partner)) {
        more.push_back(partner);
      }
    }
    std::ranges::copy(more, std::back_inserter(informed));
  }
  if (has_outsider(group, ring)) {
    (void)inform(ring.members() - 1, ring.members());
  }
  return place;
}

} // namespace stoker::algos
