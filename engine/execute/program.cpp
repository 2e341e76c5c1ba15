// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/program.hpp"

#include "engine/shared/seal.hpp"

#include <algorithm>

namespace stoker::engine {
namespace {

constexpr std::uint32_t all_buffers = ~0U;

// Whether a slice of a buffer that is attached to ends within it. Of others nothing is said.
bool lies_in_attached(const algos::Slice& slice, const EpochPart& part) {
  const auto which = static_cast<std::size_t>(slice.buffer);
  if (which >= std::size(part.buffers)) {
    return false;
  }
  const BufferDescriptor& buffer = part.buffers[which];
  if (buffer.path != Path::attached || slice.count == 0 || slice.length == 0) {
    return true;
  }
  std::uint64_t end = 0;
  return !__builtin_mul_overflow(slice.count - 1, slice.stride, &end) &&
         !__builtin_add_overflow(end, slice.offset, &end) && !__builtin_add_overflow(end, slice.length, &end) &&
         end <= buffer.bytes;
}

} // namespace

Program::Program(SharedRef block, const NodeMemory& memory, const Operation* operation)
    : block_(memory.at<Block>(block)), memory_(&memory), lowered_(read_program(block, memory)),
      arena_(memory.base(block.arena)),
      root_(&memory.root(block.arena)), combiner_{lowered_.operation, lowered_.element_bytes, operation},
      has_pieces_(
          std::ranges::any_of(lowered_.channel_list, [](const Channel& channel) { return channel.piece_bytes != 0; })),
      notes_(lowered_.channel_list.size()) {
  if (lowered_.buffers_change == 0) {
    take_epoch();
  }
  std::uint64_t most_slices = 0;
  for (const Channel& channel : lowered_.channel_list) {
    most_slices = std::max(most_slices, channel.peer_slice_count);
  }
  peer_slices_.resize(most_slices);
}

void Program::take_epoch() {
  if (!engine::take_epoch(lowered_, *block_)) {
    memory_->refuse(lowered_.arena, Damage::buffers);
  }
  buffers_ = reach(lowered_, *block_, lowered_.arena, all_buffers);
}

void Program::publish_epoch() {
  engine::publish_epoch(lowered_, *block_);
  buffers_ = reach(lowered_, *block_, lowered_.arena, all_buffers);
}

std::optional<Program::Message> Program::message_of(const StepView& step) const {
  const Channel& channel = *step.channel;
  const std::uint32_t arena = channel.peer_block.arena;
  Block& block = *memory_->at<Block>(channel.peer_block);
  EpochPart sender;
  bool intact = take_buffers(sender, block);
  if (channel.peer_slice_count > 0) {
    copy_once(peer_slices_.data(), memory_->base(arena) + channel.peer_slices,
              channel.peer_slice_count * sizeof(algos::Slice));
  }
  const std::uint64_t seal = lowered_.any_sizes != 0
                                 ? copy_once(*memory_->at<std::uint64_t>({arena, 0, channel.peer_seal}))
                                 : channel.peer_seal;
  intact = intact && seal == checksum_of(peer_slices_.data(), channel.peer_slice_count);
  if (!intact) {
    memory_->note_damage(arena, Damage::buffers);
    return std::nullopt;
  }
  const std::span<const algos::Slice> slices = std::span(peer_slices_).first(channel.peer_slice_count);
  std::uint32_t used = 0;
  for (const algos::Slice& slice : slices) {
    // By cross-memory attach a place outside of the buffer would be in the sender; here it would be in this process.
    if (memory_->xpmem_works() && !lies_in_attached(slice, sender)) {
      memory_->note_damage(arena, Damage::buffers);
      return std::nullopt;
    }
    used |= bit_of(slice.buffer);
  }
  return Message{reach(sender, block, arena, used), slices};
}

WireMessage Program::checked_message(std::uint32_t index) const {
  WireMessage message;
  if (!read_message(lowered_, *block_, index, message)) {
    memory_->refuse(lowered_.arena, Damage::request);
  }
  return message;
}

StepView Program::message(std::uint32_t index) const {
  const WireMessage message = checked_message(index);
  message_.op = message.outgoing ? Op::send_wire : Op::recv_wire;
  message_.put = message.put;
  message_.peer = message.peer;
  message_.successors = message.successors;
  message_.tag = message.tag;
  message_.endpoint = message.endpoint;
  message_.window_rank = message.window_rank;
  message_.displacement = message.displacement;
  message_.bounce = message.bounce;
  message_.bytes = message.bytes;
  message_slice_ = {message.buffer, message.offset, message.bytes};
  const std::span<const algos::Slice> data(&message_slice_, message.bytes > 0 ? 1 : 0);
  StepView view;
  view.step = &message_;
  (message.outgoing ? view.source : view.target) = data;
  return view;
}

ReachedBuffers Program::reach(const EpochPart& part, Block& block, std::uint32_t arena, std::uint32_t used) const {
  ReachedBuffers reached;
  const bool own_process = arena == memory_->self();
  for (const algos::Buffer buffer : {algos::Buffer::send, algos::Buffer::recv, algos::Buffer::scratch}) {
    const auto i = static_cast<std::size_t>(buffer);
    const BufferDescriptor& descriptor = part.buffers[i];
    BufferView& view = reached.views[i] = view_of(descriptor, memory_->pid(arena), own_process, memory_->base(arena));
    const bool attaches = descriptor.path == Path::attached && !own_process && memory_->xpmem_works();
    if (!attaches || (used & bit_of(buffer)) == 0) {
      continue;
    }
    if (auto& range = reached.attached[i] = memory_->attach_by_xpmem(arena, descriptor.address, descriptor.bytes)) {
      view.direct = range->at(descriptor.address);
    } else {
      block.unattached.fetch_or(bit_of(buffer), std::memory_order_relaxed);
    }
  }
  return reached;
}

} // namespace stoker::engine
