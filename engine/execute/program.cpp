// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/program.hpp"

#include "engine/shared/seal.hpp"

#include <algorithm>

namespace stoker::engine {

Program::Program(SharedRef block, const NodeMemory& memory, const Operation* operation)
    : block_(memory.at<Block>(block)), memory_(&memory), lowered_(read_program(block, memory)),
      arena_(memory.base(block.arena)),
      root_(&memory.root(block.arena)), combiner_{lowered_.operation, lowered_.element_bytes, operation} {
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
  buffers_ = views_of(lowered_, lowered_.arena);
}

void Program::publish_epoch() {
  engine::publish_epoch(lowered_, *block_);
  buffers_ = views_of(lowered_, lowered_.arena);
}

std::optional<Program::Message> Program::message_of(const StepView& step) const {
  const Channel& channel = *step.channel;
  const std::uint32_t arena = channel.peer_block.arena;
  EpochPart sender;
  bool intact = take_buffers(sender, *memory_->at<Block>(channel.peer_block));
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
  return Message{views_of(sender, arena), std::span(peer_slices_).first(channel.peer_slice_count)};
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

BufferViews Program::views_of(const EpochPart& part, std::uint32_t arena) const {
  BufferViews views;
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i] = view_of(part.buffers[i], memory_->pid(arena), arena == memory_->self(), memory_->base(arena));
  }
  return views;
}

} // namespace stoker::engine
