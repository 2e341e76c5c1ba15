// SPDX-License-Identifier: BSD-3-Clause
// A request's block as one process sees it: offsets turned into pointers, buffers into views. Built once per process
// and request, after init. Buffers that change from epoch to epoch are looked up by the executor of each.
//
// A helper may build it late, for an epoch that the rank has completed by itself: by then the blocks of the peers may
// hold another request. So a peer's block is read for a message that may be fetched, and at no other time
// (tests/models/adoption.pml).
#pragma once

#include "engine/shared/access.hpp"
#include "engine/shared/block.hpp"
#include "engine/shared/node_memory.hpp"

#include <span>
#include <vector>

namespace stoker::engine {

// One step as this process runs it.
struct StepView {
  LoweredStep* step = nullptr;           // an executor changes it as block.hpp says
  std::span<const algos::Slice> source;  // own slices; none for recv_node
  std::span<const algos::Slice> operand; // own slices
  std::span<const algos::Slice> target;
  std::byte* ready = nullptr; // node: the channel's slots in the receiver's block
  TakenWord* taken = nullptr; // node, in the sender's block
};

class Program {
public:
  // `operation`: that of a request of this process; null if the code in the block is enough.
  Program(Block* block, const NodeMemory& memory, const Operation* operation = nullptr);

  // Where buffers change: looks up those of the epoch that begins, or of the one that the caller executes.
  void look_up_buffers() { buffers_ = views_of(*block_); }

  [[nodiscard]] Block& block() const { return *block_; }
  [[nodiscard]] const BufferViews& buffers() const { return buffers_; }
  // A message in the sender's buffers. Between the sender's `ready` and this rank's `taken` only (block.hpp).
  struct Message {
    BufferViews views;
    std::span<const algos::Slice> slices;
  };
  [[nodiscard]] Message message_of(const StepView& step) const;
  [[nodiscard]] const Combiner& combiner() const { return combiner_; }
  [[nodiscard]] const StepView& step(std::uint32_t index) const { return steps_[index]; }
  [[nodiscard]] std::byte* bounce(const LoweredStep& step) const { return arena_ + step.bounce; }
  [[nodiscard]] RankRoot& rank_root() const { return *root_; }

  // The block's work lists.
  [[nodiscard]] std::uint32_t* remaining() const { return in_block<std::uint32_t>(block_, block_->remaining_at); }
  [[nodiscard]] std::uint32_t* ready() const { return in_block<std::uint32_t>(block_, block_->ready_at); }
  [[nodiscard]] std::uint32_t* waiting() const { return in_block<std::uint32_t>(block_, block_->waiting_at); }
  [[nodiscard]] std::uint32_t* wire() const { return in_block<std::uint32_t>(block_, block_->wire_at); }
  [[nodiscard]] std::uint8_t* posted() const { return in_block<std::uint8_t>(block_, block_->posted_at); }
  [[nodiscard]] std::span<const algos::StepId> successors(const LoweredStep& step) const {
    return {in_block<algos::StepId>(block_, block_->successors_at) + step.successors.begin, step.successors.count};
  }

private:
  [[nodiscard]] BufferViews views_of(const Block& block) const;

  Block* block_;
  const NodeMemory* memory_;
  std::byte* arena_;
  RankRoot* root_;
  BufferViews buffers_;
  Combiner combiner_;
  std::vector<StepView> steps_;
};

} // namespace stoker::engine
