// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/lowered_program.hpp"

#include "engine/shared/seal.hpp"

#include <cstddef>
#include <type_traits>

namespace stoker::engine {
namespace {

static_assert(std::is_standard_layout_v<LoweredStep> && std::is_standard_layout_v<WireMessage>, "for offsetof");
static_assert(std::has_unique_object_representations_v<LoweredStep> &&
                  std::has_unique_object_representations_v<WireMessage> &&
                  std::has_unique_object_representations_v<Channel>,
              "checksums cover no padding");

template <class T>
std::vector<T> copied(const Block& block, std::uint64_t offset, std::uint64_t count) {
  std::vector<T> copy(count);
  if (count > 0) {
    copy_once(copy.data(), in_block<T>(&block, offset), count * sizeof(T));
  }
  return copy;
}

template <class T>
void write(const std::vector<T>& list, Block& block, std::uint64_t offset) {
  if (!list.empty()) {
    std::memcpy(in_block<std::byte>(&block, offset), list.data(), list.size() * sizeof(T));
  }
}

template <class T>
std::uint64_t checksum_of(std::uint64_t sum, const std::vector<T>& list) {
  return checksum(sum, list.data(), list.size() * sizeof(T));
}

std::uint64_t buffers_seal(const EpochPart& part) { return checksum(0, &part.buffers, sizeof part.buffers); }

std::uint64_t program_seal(const LoweredProgram& program) {
  const std::size_t constant = program.any_sizes != 0 ? offsetof(LoweredStep, bytes) : sizeof(LoweredStep);
  std::uint64_t sum = program.seal;
  for (const LoweredStep& step : program.step_list) {
    sum = checksum(sum, &step, constant);
  }
  sum = checksum_of(sum, program.predecessor_list);
  sum = checksum_of(sum, program.channel_list);
  if (program.any_sizes == 0) {
    sum = checksum_of(sum, program.slice_list);
  }
  return checksum_of(checksum_of(sum, program.successor_list), program.root_list);
}

// Different for each message of each block.
std::uint64_t seal_of(const WireMessage& message, const LoweredProgram& program, std::uint32_t step) {
  return checksum(program.seal + step, &message, offsetof(WireMessage, seal));
}

std::uint64_t place_of_message(const LoweredProgram& program, std::uint32_t step) {
  return program.messages_at + ((step - program.step_list.size()) * sizeof(WireMessage));
}

} // namespace

std::uint64_t checksum_of(const algos::Slice* slices, std::uint64_t count) {
  return checksum(0, slices, count * sizeof *slices);
}

LoweredProgram read_program(SharedRef block, const NodeMemory& memory) {
  LoweredProgram program;
  static_cast<BlockHeader&>(program) = memory.header(block);
  const Block& shared = *memory.at<Block>(block);
  program.step_list = copied<LoweredStep>(shared, program.steps_at, program.steps - program.messages);
  program.predecessor_list =
      copied<std::uint32_t>(shared, program.predecessors_at, program.has_dependencies != 0 ? program.steps : 0);
  program.channel_list = copied<Channel>(shared, program.channels_at, program.channels);
  program.slice_list = copied<algos::Slice>(shared, program.slices_at, program.slices);
  program.successor_list = copied<algos::StepId>(shared, program.successors_at, program.successors);
  program.root_list = copied<std::uint32_t>(shared, program.roots_at, program.local_roots + program.wire_roots);
  if (copy_once(shared.program_seal) != program_seal(program)) {
    memory.refuse(block.arena, Damage::request);
  }
  return program;
}

void write_program(LoweredProgram& program, Block& block) {
  program.seal = header_seal(program);
  std::memcpy(static_cast<BlockHeader*>(&block), static_cast<const BlockHeader*>(&program), sizeof(BlockHeader));
  write(program.predecessor_list, block, program.predecessors_at);
  write(program.slice_list, block, program.slices_at);
  write(program.successor_list, block, program.successors_at);
  write(program.root_list, block, program.roots_at);
  write_links(program, block);
  publish_epoch(program, block);
}

void write_links(const LoweredProgram& program, Block& block) {
  write(program.step_list, block, program.steps_at);
  write(program.channel_list, block, program.channels_at);
  block.program_seal = program_seal(program);
}

bool read_message(const LoweredProgram& program, const Block& block, std::uint32_t step, WireMessage& message) {
  copy_once(&message, in_block<WireMessage>(&block, place_of_message(program, step)), sizeof message);
  return message.seal == seal_of(message, program, step);
}

void write_message(const LoweredProgram& program, Block& block, std::uint32_t step, WireMessage message) {
  message.seal = seal_of(message, program, step);
  std::memcpy(in_block<WireMessage>(&block, place_of_message(program, step)), &message, sizeof message);
}

void set_size(const LoweredProgram& program, LoweredStep& step) {
  const bool receives = step.op == Op::recv_node || step.op == Op::recv_wire;
  step.bytes = program.slice_list[receives ? step.target.begin : step.source.begin].length;
}

void publish_epoch(LoweredProgram& program, Block& block) {
  if (program.any_sizes != 0) {
    write(program.slice_list, block, program.slices_at);
    auto* seals = in_block<std::uint64_t>(&block, program.slice_seals_at);
    for (const algos::Slice& slice : program.slice_list) {
      *seals++ = checksum_of(&slice, 1);
    }
  }
  block.unattached.store(0, std::memory_order_relaxed);
  program.buffers_seal = buffers_seal(program);
  std::memcpy(static_cast<EpochPart*>(&block), static_cast<const EpochPart*>(&program), sizeof(EpochPart));
}

bool take_buffers(EpochPart& part, const Block& block) {
  copy_once(&part, static_cast<const EpochPart*>(&block), sizeof part);
  return part.buffers_seal == buffers_seal(part);
}

bool take_epoch(LoweredProgram& program, Block& block) {
  if (!take_buffers(program, block)) {
    return false;
  }
  if (program.any_sizes == 0) {
    return true;
  }
  if (!program.slice_list.empty()) {
    copy_once(program.slice_list.data(), in_block<algos::Slice>(&block, program.slices_at),
              program.slice_list.size() * sizeof(algos::Slice));
  }
  const auto* seals = in_block<std::uint64_t>(&block, program.slice_seals_at);
  for (const algos::Slice& slice : program.slice_list) {
    if (copy_once(*seals++) != checksum_of(&slice, 1)) {
      return false;
    }
  }
  for (LoweredStep& step : program.step_list) {
    set_size(program, step);
  }
  return true;
}

} // namespace stoker::engine
