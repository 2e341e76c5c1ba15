// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/vector_steps.hpp"

#include "algos/schedule/append.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace stoker::algos {

namespace {

bool without_bytes(std::span<const Slice> slices) {
  return std::ranges::all_of(slices, [](const Slice& slice) { return slice.bytes() == 0; });
}

} // namespace

Blocks block_range(std::size_t begin, std::size_t end) {
  Blocks blocks(end - begin);
  std::iota(blocks.begin(), blocks.end(), begin);
  return blocks;
}

Group Group::subgroup(std::span<const std::size_t> indices) const {
  Group group;
  for (const std::size_t index : indices) {
    if (index == me) {
      group.me = group.members.size();
    }
    group.members.push_back(members[index]);
  }
  return group;
}

Group all_ranks(const DistributedVector& vector) {
  Group group;
  group.members.resize(static_cast<std::size_t>(vector.layout.ranks()));
  std::iota(group.members.begin(), group.members.end(), 0);
  group.me = static_cast<std::size_t>(vector.rank);
  return group;
}

std::vector<std::uint64_t> cut(std::uint64_t bytes, std::size_t parts, std::uint64_t element_bytes, Partition how) {
  const auto whole_elements = [&](std::uint64_t size) {
    return (size + element_bytes - 1) / element_bytes * element_bytes;
  };
  const std::uint64_t equal = std::max<std::uint64_t>((bytes + parts - 1) / parts, how.least);
  // Equal parts begin at multiples of the least one, so that no two ranks write to one cache line.
  const std::uint64_t multiple = how.least == 0 ? equal : (equal + how.least - 1) / how.least * how.least;
  const std::uint64_t unit = whole_elements(how.fixed != 0                 ? how.fixed
                                            : bytes > parts * multiple / 2 ? multiple
                                                                           : equal);
  std::vector<std::uint64_t> cuts;
  for (std::size_t part = 0; part < parts; ++part) {
    cuts.push_back(std::min(part * unit, bytes));
  }
  cuts.push_back(bytes);
  return cuts;
}

std::vector<std::uint64_t> block_cuts(const DistributedVector& vector) {
  std::vector<std::uint64_t> cuts{0};
  for (const std::uint64_t size : vector.sizes) {
    cuts.push_back(cuts.back() + size);
  }
  return cuts;
}

VectorSteps::VectorSteps(Builder& builder, const DistributedVector& vector, std::vector<std::uint64_t> cuts)
    : builder_(builder), call_(vector), cuts_(std::move(cuts)), states_(cuts_.size() - 1), aside_(2) {
  builder_.reduces(vector.element_bytes);
}

Home VectorSteps::whole(Buffer buffer) const { return {buffer, {cuts_.begin(), cuts_.end() - 1}}; }

Home VectorSteps::at(Buffer buffer, std::vector<std::uint64_t> offsets) { return {buffer, std::move(offsets)}; }

const Home& VectorSteps::aside(std::size_t number) {
  Home& home = aside_[number];
  if (home.offsets.empty()) {
    const std::uint64_t begin = builder_.scratch(cuts_.back() - cuts_.front());
    home = whole(Buffer::scratch);
    for (std::uint64_t& offset : home.offsets) {
      offset += begin - cuts_.front();
    }
  }
  return home;
}

void VectorSteps::begin_at(std::span<const std::size_t> blocks, const Home& home) {
  for (const std::size_t block : blocks) {
    states_[block].place = slice(block, home);
  }
}

bool VectorSteps::is_at(std::size_t block, const Home& home) const {
  return states_[block].place == slice(block, home);
}

Slice VectorSteps::slice(std::size_t block, const Home& home) const {
  return {home.buffer, home.offsets[block], bytes(block)};
}

std::vector<Slice> VectorSteps::slices(std::span<const std::size_t> blocks, const Home& home) const {
  std::vector<Slice> result;
  for (const std::size_t block : blocks) {
    result.push_back(slice(block, home));
  }
  return result;
}

VectorSteps::Operands VectorSteps::present(std::span<const std::size_t> blocks) const {
  Operands result;
  for (const std::size_t block : blocks) {
    result.slices.push_back(states_[block].place);
    append(result.after, states_[block].ready);
  }
  return result;
}

std::vector<Slice> VectorSteps::slot(std::span<const std::size_t> blocks) {
  std::uint64_t sum = 0;
  for (const std::size_t block : blocks) {
    sum += bytes(block);
  }
  std::uint64_t place = builder_.scratch(sum);
  std::vector<Slice> result;
  for (const std::size_t block : blocks) {
    result.push_back({Buffer::scratch, place, bytes(block)});
    place += bytes(block);
  }
  return result;
}

void VectorSteps::add_readers(std::span<const std::size_t> blocks, const Home& home, std::vector<StepId>& after) const {
  for (const std::size_t block : blocks) {
    const Slice target = slice(block, home);
    for (const auto& [place, step] : states_[block].read) {
      if (place == target) {
        after.push_back(step);
      }
    }
  }
}

void VectorSteps::note_read(std::span<const std::size_t> blocks, StepId step) {
  for (const std::size_t block : blocks) {
    states_[block].read.emplace_back(states_[block].place, step);
  }
}

void VectorSteps::move(std::span<const std::size_t> blocks, const Home& home, StepId step) {
  for (const std::size_t block : blocks) {
    states_[block].place = slice(block, home);
    states_[block].ready = {step};
  }
}

bool VectorSteps::near(int peer) const { return call_.layout.same_node(call_.rank, peer); }

void VectorSteps::send(int peer, std::span<const std::size_t> blocks) {
  const auto [slices, after] = present(blocks);
  if (!without_bytes(slices)) {
    note_read(blocks, builder_.send(peer, slices, after));
  }
}

void VectorSteps::receive(int peer, std::span<const std::size_t> blocks, const Home& home) {
  const std::vector<Slice> target = slices(blocks, home);
  if (without_bytes(target)) {
    return;
  }
  // What is replaced may never have been read: whoever writes to its place next waits for it all the same.
  for (const std::size_t block : blocks) {
    for (const StepId step : states_[block].ready) {
      states_[block].read.emplace_back(states_[block].place, step);
    }
  }
  std::vector<StepId> after;
  add_readers(blocks, home, after);
  move(blocks, home, builder_.recv(peer, target, after));
}

void VectorSteps::reduce(const Group& group, std::span<const std::size_t> blocks, const Home& home) {
  const Operands own = present(blocks);
  const std::vector<Slice> target = slices(blocks, home);
  if (without_bytes(target) || group.size() == 1) {
    return;
  }
  std::vector<StepId> before_target; // what has to be over before the target is written
  add_readers(blocks, home, before_target);
  const bool in_its_place = target == own.slices;

  Operands left; // of the members so far
  const auto combine = [&](const Operands& right, const std::vector<Slice>& to) {
    std::vector<StepId> after = left.after;
    append(after, right.after);
    append(after, before_target);
    left = {to, {builder_.reduce(to, left.slices, right.slices, after)}};
  };
  const auto combine_message = [&](int peer, Operand message, const Operands& other, const std::vector<Slice>& to) {
    std::vector<StepId> after = other.after;
    append(after, before_target);
    left = {to, {builder_.recv_operand(peer, message, to, other.slices, after)}};
  };
  for (std::size_t member = 0; member < group.size(); ++member) {
    const int peer = group.members[member];
    // Until this rank's own operand is used up, its place is not to be written.
    const bool own_follows = member < group.me;
    if (member == group.me) {
      if (member == 0) {
        left = own;
      } else if (member > 1 || !near(group.members[0])) {
        combine(own, target);
      } // else the only member before has brought it along
      continue;
    }
    if (!near(peer)) {
      // Lands by itself, whenever it comes.
      const std::vector<Slice> landing = slot(blocks);
      const Operands message{landing, {builder_.recv(peer, landing)}};
      if (member == 0) {
        left = message;
      } else {
        combine(message, own_follows && in_its_place ? slot(blocks) : target);
      }
    } else if (member == 0 && group.me == 1) {
      combine_message(peer, Operand::left, own, target);
    } else if (member == 0) {
      const std::vector<Slice> to = in_its_place ? slot(blocks) : target;
      left = {to, {builder_.recv(peer, to, in_its_place ? std::vector<StepId>() : before_target)}};
    } else {
      combine_message(peer, Operand::right, left, own_follows && in_its_place ? left.slices : target);
    }
  }
  note_read(blocks, left.after.front());
  move(blocks, home, left.after.front());
}

void VectorSteps::reduce_here(const Group& group, std::span<const std::size_t> blocks, const Home& home) {
  if (!call_.commutative) {
    reduce(group, blocks, home);
    return;
  }
  Group from_here{group.members, 0};
  std::rotate(from_here.members.begin(), from_here.members.begin() + static_cast<std::ptrdiff_t>(group.me),
              from_here.members.end());
  reduce(from_here, blocks, home);
}

void VectorSteps::accumulate(int peer, std::span<const std::size_t> blocks, const Home& home) {
  const Operands own = present(blocks);
  const std::vector<Slice> target = slices(blocks, home);
  if (without_bytes(target)) {
    return;
  }
  std::vector<StepId> after = own.after;
  add_readers(blocks, home, after);
  StepId step = 0;
  if (near(peer)) {
    step = builder_.recv_operand(peer, Operand::right, target, own.slices, after);
  } else {
    const std::vector<Slice> landing = slot(blocks);
    after.push_back(builder_.recv(peer, landing));
    step = builder_.reduce(target, own.slices, landing, after);
  }
  note_read(blocks, step);
  move(blocks, home, step);
}

void VectorSteps::prepend(int peer, std::span<const int> others, std::span<const std::size_t> blocks,
                          const Home& home) {
  const Operands own = present(blocks);
  const std::vector<Slice> target = slices(blocks, home);
  if (without_bytes(target)) {
    return;
  }
  const std::vector<Slice> landing = slot(blocks);
  const StepId arrival = builder_.recv(peer, landing);
  for (const int other : others) {
    builder_.send(other, landing, {&arrival, 1});
  }
  std::vector<StepId> after = own.after;
  add_readers(blocks, home, after);
  after.push_back(arrival);
  const StepId step = builder_.reduce(target, landing, own.slices, after);
  note_read(blocks, step);
  move(blocks, home, step);
}

void VectorSteps::settle(std::span<const std::size_t> blocks, const Home& home) {
  Blocks elsewhere;
  std::ranges::copy_if(blocks, std::back_inserter(elsewhere),
                       [&](std::size_t block) { return bytes(block) > 0 && !is_at(block, home); });
  if (elsewhere.empty()) {
    return;
  }
  Operands from = present(elsewhere);
  add_readers(elsewhere, home, from.after);
  const StepId step = builder_.copy(slices(elsewhere, home), from.slices, from.after);
  note_read(elsewhere, step);
  move(elsewhere, home, step);
}

void VectorSteps::signal(int peer) { builder_.send(peer, std::span<const Slice>(), awaited_); }

void VectorSteps::await(int peer) { awaited_.push_back(builder_.recv(peer, std::span<const Slice>())); }

} // namespace stoker::algos
