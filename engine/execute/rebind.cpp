// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/rebind.hpp"

#include <algorithm>

namespace stoker::engine {
namespace {

LoweredStep* steps_of(Block& block) { return in_block<LoweredStep>(&block, block.steps_at); }
const LoweredStep* steps_of(const Block& block) { return steps_of(const_cast<Block&>(block)); } // only read
algos::Slice* slices_of(Block& block) { return in_block<algos::Slice>(&block, block.slices_at); }

// The slices that a wire step without a second operand sends or receives.
const algos::Range& message_of(const LoweredStep& step) { return step.op == Op::send_wire ? step.source : step.target; }

std::uint64_t in_lines(std::uint64_t bytes) { return (bytes + cache_line - 1) & ~(cache_line - 1); }

} // namespace

Rebinding::Rebinding(Block& block, bool any_sizes, bool endpoint_is_self) : any_sizes_(any_sizes) {
  const LoweredStep* steps = steps_of(block);
  for (std::uint32_t i = 0; i < block.steps; ++i) {
    const LoweredStep& step = steps[i];
    const bool wire = step.op == Op::send_wire || step.op == Op::recv_wire;
    if (wire && !endpoint_is_self && step.bounce == 0 && message_of(step).count > 0) {
      const algos::Buffer buffer = slices_of(block)[message_of(step).begin].buffer;
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
  const auto* roots = in_block<std::uint32_t>(&block, block.roots_at);
  wire_roots_.assign(roots + block.local_roots, roots + block.local_roots + block.wire_roots);
}

bool Rebinding::sends_long_in_node(std::span<const algos::Slice> outgoing, std::uint64_t eager_bytes) const {
  return std::ranges::any_of(resized_, [&](const Resized& message) {
    return message.outgoing && message.in_node && outgoing[message.peer].length > eager_bytes;
  });
}

// Within the node even empty messages travel, because the words of a channel count epochs. Between nodes there is no
// message for no bytes, as with the MPI libraries.
void Rebinding::resize(Block& block, std::span<const algos::Slice> outgoing, std::span<const algos::Slice> incoming,
                       std::uint64_t eager_bytes) const {
  LoweredStep* const steps = steps_of(block);
  algos::Slice* const slices = slices_of(block);
  for (const Resized& message : resized_) {
    LoweredStep& step = steps[message.step];
    const algos::Slice slice = (message.outgoing ? outgoing : incoming)[message.peer];
    slices[message.outgoing ? step.source.begin : step.target.begin] = slice;
    step.bytes = slice.length;
    step.eager = message.in_node && slice.length <= eager_bytes;
  }
  const auto own = static_cast<std::size_t>(block.rank);
  slices[steps[own_copy_].source.begin] = outgoing[own];
  slices[steps[own_copy_].target.begin] = incoming[own];
  steps[own_copy_].bytes = outgoing[own].length;
  auto* const roots = in_block<std::uint32_t>(&block, block.roots_at) + block.local_roots;
  const auto end =
      std::ranges::copy_if(wire_roots_, roots, [&](std::uint32_t step) { return steps[step].bytes > 0; }).out;
  block.wire_roots = static_cast<std::uint32_t>(end - roots);
  block.left_out = static_cast<std::uint32_t>(wire_roots_.size()) - block.wire_roots;
}

void Rebinding::note_received(const Block& block, std::span<std::uint64_t> bytes) const {
  for (const Resized& message : resized_) {
    if (!message.outgoing) {
      bytes[message.peer] = steps_of(block)[message.step].bytes;
    }
  }
  bytes[static_cast<std::size_t>(block.rank)] = steps_of(block)[own_copy_].bytes;
}

std::uint64_t Rebinding::most_bounce_bytes(const Block& block) const {
  std::uint64_t bytes = 0;
  for (const Bounced& message : bounced_) {
    bytes += in_lines(steps_of(block)[message.step].bytes);
  }
  return bytes;
}

std::uint64_t Rebinding::bounce_bytes(const Block& block) const {
  std::uint64_t bytes = 0;
  for (const Bounced& message : bounced_) {
    bytes += block.buffers[message.buffer].path == Path::cma ? in_lines(steps_of(block)[message.step].bytes) : 0;
  }
  return bytes;
}

void Rebinding::bounce(Block& block, std::uint64_t place) const {
  LoweredStep* const steps = steps_of(block);
  for (const Bounced& message : bounced_) {
    LoweredStep& step = steps[message.step];
    const bool bounces = block.buffers[message.buffer].path == Path::cma && step.bytes > 0;
    step.bounce = bounces ? place : 0;
    place += bounces ? in_lines(step.bytes) : 0;
  }
}

} // namespace stoker::engine
