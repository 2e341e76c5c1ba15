// SPDX-License-Identifier: BSD-3-Clause
// A request's block as one process sees it: a checked copy of the program, and views of the buffers. Built once per
// process and request, after init. What changes from epoch to epoch is taken by the executor of each.
//
// A helper may build it late, for an epoch that the rank has completed by itself: by then the blocks of the peers may
// hold another request. So a peer's block is read for a message that may be fetched, and at no other time
// (tests/models/adoption.pml).
#pragma once

#include "engine/execute/lowered_program.hpp"
#include "engine/shared/access.hpp"
#include "engine/shared/block.hpp"
#include "engine/shared/node_memory.hpp"
#include "engine/shared/slice_parts.hpp"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace stoker::engine {

// One step as this process runs it. Here a wire message is a step like any other.
struct StepView {
  const LoweredStep* step = nullptr;
  const Channel* channel = nullptr;      // node
  std::span<const algos::Slice> source;  // own slices; none for recv_node
  std::span<const algos::Slice> operand; // own slices
  std::span<const algos::Slice> target;
  std::byte* ready = nullptr; // node: the channel's slots in the receiver's block
  TakenWord* taken = nullptr; // node, in the sender's block
};

// A rank's buffers as this process reaches them, and what keeps those that are attached by XPMEM in place meanwhile.
struct ReachedBuffers {
  BufferViews views;
  std::array<std::shared_ptr<const AttachedRange>, 3> attached; // as views
};

// What this process remembers of a channel.
struct ChannelNotes {
  std::uint64_t known_taken = 0; // send: the latest epoch that was seen to be taken
  // For pieces:
  std::uint64_t claimed = 0;       // recv: that word of the sender's at the last look, and when it was first seen to be
  std::uint64_t claimed_at_ns = 0; // that; 0 if the receiver itself was the last to claim any
  SlicePosition data;
  SlicePosition operand;
};

class Program {
public:
  // `operation`: that of a request of this process; null if the code in the block is enough. Throws Error(peer_lost)
  // where the block is damaged.
  Program(SharedRef block, const NodeMemory& memory, const Operation* operation = nullptr);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Where something changes: takes what belongs to the epoch that the caller executes. Throws Error(peer_lost).
  void take_epoch();
  // The rank itself, while no epoch runs: changes its copy, then publishes that.
  [[nodiscard]] LoweredProgram& own_copy() { return lowered_; }
  void publish_epoch();

  [[nodiscard]] Block& block() const { return *block_; } // for the state of the epoch
  [[nodiscard]] const LoweredProgram& lowered() const { return lowered_; }
  [[nodiscard]] const BufferViews& buffers() const { return buffers_.views; }
  // A message in the sender's buffers. Between the sender's `ready` and this rank's `taken` only (block.hpp).
  struct Message {
    ReachedBuffers buffers;
    std::span<const algos::Slice> slices; // until the next one is looked up
  };
  // Nothing if the sender's memory is damaged.
  [[nodiscard]] std::optional<Message> message_of(const StepView& step) const;
  [[nodiscard]] const Combiner& combiner() const { return combiner_; }
  // Valid until the next one is looked up. Throws Error(peer_lost) where a message is damaged.
  [[nodiscard]] StepView step(std::uint32_t index) const {
    if (index >= lowered_.step_list.size()) {
      return message(index);
    }
    const LoweredStep& step = lowered_.step_list[index];
    const bool in_node = step.op == Op::send_node || step.op == Op::recv_node;
    const Channel* channel = in_node ? &lowered_.channel_list[step.channel] : nullptr;
    return {.step = &step,
            .channel = channel,
            .source = slices(step.source),
            .operand = slices(step.operand),
            .target = slices(step.target),
            .ready = in_node ? memory_->at<std::byte>(channel->ready) : nullptr,
            .taken = in_node ? memory_->at<TakenWord>(channel->taken) : nullptr};
  }
  // Whether what is sent now may come of what has failed in this epoch.
  [[nodiscard]] bool sends_on_failure() const {
    return lowered_.has_dependencies != 0 && block_->error.load(std::memory_order_relaxed) != 0;
  }
  [[nodiscard]] bool has_pieces() const { return has_pieces_; } // of messages within the node
  // What is remembered of a step within the node.
  [[nodiscard]] ChannelNotes& notes(const LoweredStep& step) const { return notes_[step.channel]; }
  [[nodiscard]] bool is_posted(std::uint32_t index) const {
    return index >= lowered_.step_list.size() || engine::is_posted(lowered_.step_list[index].op);
  }
  // The rank itself, while no epoch runs. `change`: void(WireMessage&).
  template <class Change>
  void change_message(std::uint32_t index, Change change) {
    WireMessage message = checked_message(index);
    change(message);
    write_message(lowered_, *block_, index, message);
  }
  [[nodiscard]] std::byte* bounce(const LoweredStep& step) const { return arena_ + step.bounce; }
  [[nodiscard]] RankRoot& rank_root() const { return *root_; }
  [[nodiscard]] std::span<const algos::StepId> successors(const LoweredStep& step) const {
    return std::span(lowered_.successor_list).subspan(step.successors.begin, step.successors.count);
  }
  // In exchanges of any sizes: how much came by a recv, which whoever executed it has noted.
  [[nodiscard]] std::uint64_t& bytes_received(std::size_t step) const {
    return in_block<std::uint64_t>(block_, lowered_.received_at)[step];
  }

  // The block's work lists. Their words may hold anything: see checked_count() and checked_step().
  [[nodiscard]] std::uint32_t* remaining() const { return in_block<std::uint32_t>(block_, lowered_.remaining_at); }
  [[nodiscard]] std::uint32_t* ready() const { return in_block<std::uint32_t>(block_, lowered_.ready_at); }
  [[nodiscard]] std::uint32_t* waiting() const { return in_block<std::uint32_t>(block_, lowered_.waiting_at); }
  [[nodiscard]] std::uint32_t* wire() const { return in_block<std::uint32_t>(block_, lowered_.wire_at); }
  [[nodiscard]] std::uint8_t* posted() const { return in_block<std::uint8_t>(block_, lowered_.posted_at); }
  // The length of a list, the number of a step. Throw Error(peer_lost) if there is no such.
  [[nodiscard]] std::uint32_t checked_count(std::uint32_t& word) const {
    const std::uint32_t count = load_once(word);
    require(count <= lowered_.steps);
    return count;
  }
  [[nodiscard]] std::uint32_t checked_step(std::uint32_t& word) const {
    const std::uint32_t step = load_once(word);
    require(step < lowered_.steps);
    return step;
  }
  void push(std::uint32_t* list, std::uint32_t& count, std::uint32_t step) const {
    const std::uint32_t at = load_once(count);
    require(at < lowered_.steps);
    list[at] = step;
    count = at + 1;
  }
  // Throws Error(peer_lost) unless a condition on the state of an epoch holds.
  void require(bool holds) const {
    if (!holds) [[unlikely]] {
      memory_->refuse(lowered_.arena, Damage::state);
    }
  }
  // The sender of a message within the node has damaged words.
  void note_damage_of_peer(const StepView& step) const {
    memory_->note_damage(step.channel->taken.arena, Damage::state);
  }
  // Whoever waits for the rank gets an error: its program cannot go on.
  void give_up() const { memory_->note_first_damage(lowered_.arena, Damage::state); }

private:
  [[nodiscard]] WireMessage checked_message(std::uint32_t index) const;
  [[nodiscard]] StepView message(std::uint32_t index) const;
  [[nodiscard]] std::span<const algos::Slice> slices(algos::Range range) const {
    return std::span(lowered_.slice_list).subspan(range.begin, range.count);
  }
  // `used`: bits of the buffers that are wanted. They are those of a rank's block.
  [[nodiscard]] ReachedBuffers reach(const EpochPart& part, Block& block, std::uint32_t arena,
                                     std::uint32_t used) const;

  Block* block_;
  const NodeMemory* memory_;
  LoweredProgram lowered_;
  std::byte* arena_;
  RankRoot* root_;
  ReachedBuffers buffers_;
  Combiner combiner_;
  bool has_pieces_;
  mutable std::vector<ChannelNotes> notes_;
  mutable std::vector<algos::Slice> peer_slices_; // of one message within the node
  mutable LoweredStep message_;                   // the one between nodes that was looked up
  mutable algos::Slice message_slice_;
};

} // namespace stoker::engine
