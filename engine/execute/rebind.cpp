// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/rebind.hpp"

#include "engine/base/round_up.hpp"
#include "engine/execute/lower.hpp"

#include <algorithm>

namespace stoker::engine {
namespace {

std::uint64_t bounce_room(std::uint64_t bytes) { return round_up(bytes, bounce_alignment); }

bool is_wire(const LoweredStep& step) { return step.op == Op::send_wire || step.op == Op::recv_wire; }

} // namespace

// What takes buffers for every epoch sends each message in one piece; one that is not bounces at a place of its own.
Rebinding::Rebinding(const Program& program, bool any_sizes, bool endpoint_is_self) : any_sizes_(any_sizes) {
  const LoweredProgram& lowered = program.lowered();
  for (std::uint32_t i = 0; i < lowered.steps; ++i) {
    const StepView view = program.step(i);
    const LoweredStep& step = *view.step;
    const bool outgoing = step.op == Op::send_node || step.op == Op::send_wire;
    const auto data = outgoing ? view.source : view.target;
    if (is_wire(step) && !endpoint_is_self && step.bounce == 0 && !data.empty() &&
        data.front().buffer != algos::Buffer::scratch) {
      bounced_.push_back({i, data.front().buffer});
    }
    if (any_sizes && step.op == Op::copy) {
      own_copy_ = i;
    } else if (any_sizes) {
      resized_.push_back({.step = i, .peer = step.peer, .outgoing = outgoing, .in_node = !is_wire(step)});
    }
  }
  wire_roots_.assign(lowered.root_list.begin() + lowered.local_roots, lowered.root_list.end());
}

bool Rebinding::sends_long_in_node(std::span<const algos::Slice> outgoing, std::uint64_t eager_bytes) const {
  return std::ranges::any_of(resized_, [&](const Resized& message) {
    return message.outgoing && message.in_node && outgoing[static_cast<std::size_t>(message.peer)].length > eager_bytes;
  });
}

// Within the node even empty messages travel, because the words of a channel count epochs. Between nodes there is no
// message for no bytes, as with the MPI libraries.
void Rebinding::resize(Program& program, std::span<const algos::Slice> outgoing,
                       std::span<const algos::Slice> incoming) const {
  LoweredProgram& lowered = program.own_copy();
  std::vector<algos::Slice>& slices = lowered.slice_list;
  std::vector<bool> empty(lowered.messages);
  for (const Resized& message : resized_) {
    const algos::Slice& slice = (message.outgoing ? outgoing : incoming)[static_cast<std::size_t>(message.peer)];
    if (message.in_node) {
      LoweredStep& step = lowered.step_list[message.step];
      slices[message.outgoing ? step.source.begin : step.target.begin] = slice;
      set_size(lowered, step);
    } else {
      empty[message.step - lowered.step_list.size()] = slice.length == 0;
      program.change_message(message.step, [&](WireMessage& changed) {
        changed.buffer = slice.buffer;
        changed.offset = slice.offset;
        changed.bytes = slice.length;
      });
    }
  }
  const auto own = static_cast<std::size_t>(lowered.rank);
  LoweredStep& copy = lowered.step_list[own_copy_];
  slices[copy.source.begin] = outgoing[own];
  slices[copy.target.begin] = incoming[own];
  set_size(lowered, copy);
  const auto roots = lowered.root_list.begin() + lowered.local_roots;
  const auto end = std::ranges::copy_if(wire_roots_, roots, [&](std::uint32_t step) {
                     return !empty[step - lowered.step_list.size()];
                   }).out;
  lowered.wire_roots = static_cast<std::uint32_t>(end - roots);
  lowered.left_out = static_cast<std::uint32_t>(wire_roots_.size()) - lowered.wire_roots;
}

void Rebinding::note_received(const Program& program, std::span<const algos::Slice> incoming,
                              std::span<std::uint64_t> bytes) const {
  for (const Resized& message : resized_) {
    if (!message.outgoing) {
      const auto peer = static_cast<std::size_t>(message.peer);
      bytes[peer] = std::min(program.bytes_received(message.step), incoming[peer].length);
    }
  }
  const auto own = static_cast<std::size_t>(program.lowered().rank);
  bytes[own] = program.lowered().step_list[own_copy_].bytes;
}

std::uint64_t Rebinding::most_bounce_bytes(const Program& program) const {
  std::uint64_t bytes = 0;
  for (const Bounced& message : bounced_) {
    bytes += bounce_room(program.step(message.step).step->bytes);
  }
  return bytes;
}

std::uint64_t Rebinding::bounce_bytes(const Program& program) const {
  std::uint64_t bytes = 0;
  for (const Bounced& message : bounced_) {
    if (program.lowered().buffers[static_cast<std::size_t>(message.buffer)].path == Path::attached) {
      bytes += bounce_room(program.step(message.step).step->bytes);
    }
  }
  return bytes;
}

void Rebinding::bounce(Program& program, std::uint64_t place) const {
  const bool has_place = place != 0;
  for (const Bounced& message : bounced_) {
    const bool copied =
        has_place && program.lowered().buffers[static_cast<std::size_t>(message.buffer)].path == Path::attached;
    program.change_message(message.step, [&](WireMessage& changed) {
      changed.bounce = copied && changed.bytes > 0 ? place : 0;
      place += copied ? bounce_room(changed.bytes) : 0;
    });
  }
}

} // namespace stoker::engine
