// SPDX-License-Identifier: BSD-3-Clause
// What a block says of its program, as a copy in private memory. Executors of any process follow their copy, which they
// have checked once: no store to the shared memory sends them anywhere else. The rank's own copy is the one that it
// changes from epoch to epoch, and publishes. Wire messages are not copied: each is checked whenever it is used.
//
// Checksums cover the header, what is constant in the program, and, each by itself, wire messages and what differs from
// epoch to epoch: the buffers, and the slices of an exchange of any sizes.
#pragma once

#include "engine/shared/block.hpp"
#include "engine/shared/node_memory.hpp"

#include <cstdint>
#include <vector>

namespace stoker::engine {

struct LoweredProgram : BlockHeader, EpochPart {
  std::vector<LoweredStep> step_list; // without messages
  std::vector<std::uint32_t> predecessor_list;
  std::vector<Channel> channel_list;
  std::vector<algos::Slice> slice_list;
  std::vector<algos::StepId> successor_list;
  std::vector<std::uint32_t> root_list;
};

// Without what differs from epoch to epoch, if anything does. Throws Error(peer_lost) if it is not what the rank wrote.
[[nodiscard]] LoweredProgram read_program(SharedRef block, const NodeMemory& memory);
// The rank itself, at init: all of it but messages, with checksums; then its channels and held wire steps once more,
// when they are linked.
void write_program(LoweredProgram& program, Block& block);
void write_links(const LoweredProgram& program, Block& block);
// A message, by its number as a step; false if it is not what the rank wrote.
[[nodiscard]] bool read_message(const LoweredProgram& program, const Block& block, std::uint32_t step,
                                WireMessage& message);
// The rank itself, while no epoch runs.
void write_message(const LoweredProgram& program, Block& block, std::uint32_t step, WireMessage message);
// Where sizes change: what follows from the slice of a step.
void set_size(const LoweredProgram& program, LoweredStep& step);

// What differs from epoch to epoch. The rank, while no epoch runs:
void publish_epoch(LoweredProgram& program, Block& block);
// An executor that has an epoch; false if it is not what the rank published.
[[nodiscard]] bool take_epoch(LoweredProgram& program, Block& block);

// A peer takes the sender's buffers, and `count` slices of a message; false likewise.
[[nodiscard]] bool take_buffers(EpochPart& part, const Block& block);
[[nodiscard]] std::uint64_t checksum_of(const algos::Slice* slices, std::uint64_t count);

} // namespace stoker::engine
