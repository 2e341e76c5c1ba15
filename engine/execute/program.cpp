// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/program.hpp"

namespace stoker::engine {
namespace {

std::span<const algos::Slice> slices_of(const Block& block, algos::Range range) {
  return {in_block<algos::Slice>(&block, block.slices_at) + range.begin, range.count};
}

} // namespace

Program::Program(Block* block, const NodeMemory& memory, const Operation* operation)
    : block_(block), memory_(&memory), arena_(memory.base(block->arena)),
      root_(&memory.root(block->arena)), combiner_{block->operation, block->element_bytes, operation},
      steps_(block->steps) {
  if (block->buffers_change == 0) {
    look_up_buffers();
  }
  auto* steps = in_block<LoweredStep>(block, block->steps_at);
  for (std::uint32_t i = 0; i < block->steps; ++i) {
    LoweredStep& step = steps[i];
    StepView& view = steps_[i];
    view.step = &step;
    view.source = slices_of(*block, step.source);
    view.operand = slices_of(*block, step.operand);
    view.target = slices_of(*block, step.target);
    if (step.op == Op::send_node || step.op == Op::recv_node) {
      view.ready = memory.at<std::byte>(step.ready);
      view.taken = memory.at<TakenWord>(step.taken);
    }
  }
}

Program::Message Program::message_of(const StepView& step) const {
  const auto& sender = *memory_->at<Block>(step.step->peer_block);
  return {views_of(sender), slices_of(sender, step.step->peer_source)};
}

BufferViews Program::views_of(const Block& block) const {
  BufferViews views;
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i] = view_of(block.buffers[i], block.arena == memory_->self(), memory_->base(block.arena));
  }
  return views;
}

} // namespace stoker::engine
