// SPDX-License-Identifier: BSD-3-Clause
// What the algorithms for distributed vectors are written with: one rank's blocks of the vector, where each of them is
// at present, and the stages of messages that combine, divide and gather them among the members of a group.
#pragma once

#include "algos/collectives/distributed_vector.hpp"
#include "algos/schedule/builder.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stoker::algos {

using Blocks = std::vector<std::size_t>;
[[nodiscard]] Blocks block_range(std::size_t begin, std::size_t end);
// The blocks of a member of a group in which each has one, that of its own number.
[[nodiscard]] inline Blocks own_block(std::size_t member) { return {member}; }

// Ranks in the order of the operation, seen from members[me].
struct Group {
  std::vector<int> members;
  std::size_t me = 0;

  [[nodiscard]] std::size_t size() const { return members.size(); }
  // Those of the members with these indices, of which this rank is one.
  [[nodiscard]] Group subgroup(std::span<const std::size_t> indices) const;
};
[[nodiscard]] Group all_ranks(const DistributedVector& vector);

// Where each block lies, or would lie, in one buffer.
struct Home {
  Buffer buffer = Buffer::scratch;
  std::vector<std::uint64_t> offsets;
};

class VectorSteps {
public:
  // `cuts`: byte offsets in the vector at which its blocks begin, and its end. Blocks are nowhere at first.
  VectorSteps(Builder& builder, const DistributedVector& vector, std::vector<std::uint64_t> cuts);

  [[nodiscard]] std::size_t blocks() const { return cuts_.size() - 1; }
  [[nodiscard]] Blocks all() const { return block_range(0, blocks()); }
  [[nodiscard]] std::uint64_t bytes(std::size_t block) const { return cuts_[block + 1] - cuts_[block]; }

  // A home in which the vector lies one block behind the other from the beginning of a buffer; and one with the given
  // places.
  [[nodiscard]] Home whole(Buffer buffer) const;
  [[nodiscard]] static Home at(Buffer buffer, std::vector<std::uint64_t> offsets);
  // The two homes in scratch; each is made when it is first asked for.
  [[nodiscard]] const Home& aside(std::size_t number = 0);

  // Declares the blocks that this rank has before the first step.
  void begin_at(std::span<const std::size_t> blocks, const Home& home);
  [[nodiscard]] bool is_at(std::size_t block, const Home& home) const;

  void send(int peer, std::span<const std::size_t> blocks);
  // Moves blocks to `home`, where they are from then on.
  void receive(int peer, std::span<const std::size_t> blocks, const Home& home);
  // Reduces the blocks over the group, all other members of which send theirs, in the order of the members. The result
  // is in `home` from then on. If this rank sends its own operands too, that must be another home than theirs.
  void reduce(const Group& group, std::span<const std::size_t> blocks, const Home& home);
  // The same for a result that this rank alone makes. If any order will do, its own operand comes first, and then those
  // of the next members, round the group; so nothing has to be copied first.
  void reduce_here(const Group& group, std::span<const std::size_t> blocks, const Home& home);
  // Combines this rank's blocks with those that `peer` sends, which are the right operand.
  void accumulate(int peer, std::span<const std::size_t> blocks, const Home& home);
  // Combines the blocks that `peer` sends with this rank's, which are the right operand; and passes the former on to
  // others unchanged.
  void prepend(int peer, std::span<const int> others, std::span<const std::size_t> blocks, const Home& home);
  // Copies those blocks to `home` that are not there yet.
  void settle(std::span<const std::size_t> blocks, const Home& home);
  // Exchanges messages without bytes; the steps that follow wait for those that arrive.
  void signal(int peer);
  void await(int peer);

private:
  struct State {
    Slice place;
    std::vector<StepId> ready;                  // after these it may be read
    std::vector<std::pair<Slice, StepId>> read; // who reads it, or has read it where it was
  };
  struct Operands {
    std::vector<Slice> slices;
    std::vector<StepId> after;
  };
  [[nodiscard]] Slice slice(std::size_t block, const Home& home) const;
  [[nodiscard]] Operands present(std::span<const std::size_t> blocks) const;
  [[nodiscard]] std::vector<Slice> slices(std::span<const std::size_t> blocks, const Home& home) const;
  [[nodiscard]] std::vector<Slice> slot(std::span<const std::size_t> blocks); // fresh room in scratch
  // Adds the steps that have to be over before the blocks can be written there.
  void add_readers(std::span<const std::size_t> blocks, const Home& home, std::vector<StepId>& after) const;
  void note_read(std::span<const std::size_t> blocks, StepId step);
  void move(std::span<const std::size_t> blocks, const Home& home, StepId step);
  [[nodiscard]] bool near(int peer) const;

  Builder& builder_;
  const DistributedVector& call_;
  std::vector<std::uint64_t> cuts_;
  std::vector<State> states_;
  std::vector<Home> aside_;
  std::vector<StepId> awaited_;
};

// Cuts a vector into `parts` blocks without cutting elements. Blocks are equal and have at least `least` bytes, as long
// as there are bytes. With `fixed`, all blocks but the last have that size, and the last has what remains.
struct Partition {
  std::uint64_t least = 64;
  std::uint64_t fixed = 0; // 0: equal parts
};
[[nodiscard]] std::vector<std::uint64_t> cut(std::uint64_t bytes, std::size_t parts, std::uint64_t element_bytes,
                                             Partition how);

// Where the blocks of a vector begin, one behind the other, and the end.
[[nodiscard]] std::vector<std::uint64_t> block_cuts(const DistributedVector& vector);

} // namespace stoker::algos
