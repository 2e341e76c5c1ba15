// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/rebind.hpp"

#include "engine/base/round_up.hpp"
#include "engine/execute/lower.hpp"

#include <algorithm>

namespace stoker::engine {
namespace {

// The slices that a wire step without a second operand sends or receives.
const algos::Range& message_of(const LoweredStep& step) { return step.op == Op::send_wire ? step.source : step.target; }

std::uint64_t bounce_room(std::uint64_t bytes) { return round_up(bytes, bounce_alignment); }

} // namespace

Rebinding::Rebinding(LoweredProgram& program, bool any_sizes, bool endpoint_is_self) : any_sizes_(any_sizes) {
  const std::vector<LoweredStep>& steps = program.step_list;
  for (std::uint32_t i = 0; i < program.steps; ++i) {
    const LoweredStep& step = steps[i];
    const bool wire = step.op == Op::send_wire || step.op == Op::recv_wire;
    if (wire && !endpoint_is_self && step.bounce == 0 && message_of(step).count > 0) {
      const algos::Buffer buffer = program.slice_list[message_of(step).begin].buffer;
      if (buffer != algos::Buffer::scratch) {
        bounced_.push_back({i, static_cast<std::size_t>(buffer)});
      }
    }
    if (any_sizes && step.op == Op::copy) {
      own_copy_ = i;
    } else if (any_sizes) {
      resized_.push_back({.step = i,
                          .peer = static_cast<std::size_t>(step.peer),
                          .outgoing = step.op == Op::send_node || step.op == Op::send_wire,
                          .in_node = !wire});
    }
  }
  wire_roots_.assign(program.root_list.begin() + program.local_roots, program.root_list.end());
}

bool Rebinding::sends_long_in_node(std::span<const algos::Slice> outgoing, std::uint64_t eager_bytes) const {
  return std::ranges::any_of(resized_, [&](const Resized& message) {
    return message.outgoing && message.in_node && outgoing[message.peer].length > eager_bytes;
  });
}

// Within the node even empty messages travel, because the words of a channel count epochs. Between nodes there is no
// message for no bytes, as with the MPI libraries.
void Rebinding::resize(LoweredProgram& program, std::span<const algos::Slice> outgoing,
                       std::span<const algos::Slice> incoming) const {
  std::vector<LoweredStep>& steps = program.step_list;
  std::vector<algos::Slice>& slices = program.slice_list;
  for (const Resized& message : resized_) {
    LoweredStep& step = steps[message.step];
    const algos::Slice slice = (message.outgoing ? outgoing : incoming)[message.peer];
    slices[message.outgoing ? step.source.begin : step.target.begin] = slice;
    set_size(program, step);
  }
  const auto own = static_cast<std::size_t>(program.rank);
  slices[steps[own_copy_].source.begin] = outgoing[own];
  slices[steps[own_copy_].target.begin] = incoming[own];
  set_size(program, steps[own_copy_]);
  const auto roots = program.root_list.begin() + program.local_roots;
  const auto end =
      std::ranges::copy_if(wire_roots_, roots, [&](std::uint32_t step) { return steps[step].bytes > 0; }).out;
  program.wire_roots = static_cast<std::uint32_t>(end - roots);
  program.left_out = static_cast<std::uint32_t>(wire_roots_.size()) - program.wire_roots;
}

void Rebinding::note_received(const Program& program, std::span<std::uint64_t> bytes) const {
  for (const Resized& message : resized_) {
    if (!message.outgoing) {
      bytes[message.peer] = std::min(program.bytes_received(message.step), program.lowered_step(message.step).bytes);
    }
  }
  bytes[static_cast<std::size_t>(program.lowered().rank)] = program.lowered_step(own_copy_).bytes;
}

std::uint64_t Rebinding::most_bounce_bytes(const LoweredProgram& program) const {
  std::uint64_t bytes = 0;
  for (const Bounced& message : bounced_) {
    bytes += bounce_room(program.step_list[message.step].bytes);
  }
  return bytes;
}

std::uint64_t Rebinding::bounce_bytes(const LoweredProgram& program) const {
  std::uint64_t bytes = 0;
  for (const Bounced& message : bounced_) {
    bytes += program.buffers[message.buffer].path == Path::cma ? bounce_room(program.step_list[message.step].bytes) : 0;
  }
  return bytes;
}

void Rebinding::bounce(LoweredProgram& program, std::uint64_t place) const {
  std::vector<LoweredStep>& steps = program.step_list;
  for (const Bounced& message : bounced_) {
    LoweredStep& step = steps[message.step];
    const bool bounces = program.buffers[message.buffer].path == Path::cma && step.bytes > 0;
    step.bounce = bounces ? place : 0;
    place += bounces ? bounce_room(step.bytes) : 0;
  }
}

} // namespace stoker::engine
