// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/executor.hpp"

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/execute/delivery.hpp"
#include "engine/execute/piece_messages.hpp"

#include <algorithm>

namespace stoker::engine {
namespace {

void finish_step(const Program& program, const LoweredStep& step) {
  EpochState& state = program.block().state;
  --state.steps_left;
  for (const algos::StepId next : program.successors(step)) {
    if (--program.remaining()[next] == 0) {
      if (program.is_posted(next)) {
        program.push(program.wire(), state.wire_count, next);
      } else {
        program.push(program.ready(), state.ready_count, next);
      }
    }
  }
}

Attempt try_step(const Program& program, std::uint32_t index, std::uint64_t epoch, Help help) {
  const StepView view = program.step(index);
  Attempt attempt = Attempt::done;
  switch (view.step->op) {
  case Op::copy:
    check_transfer(program, view, transfer(program.buffers(), view.target, program.buffers(), view.source));
    break;
  case Op::reduce:
    check_transfer(program, view,
                   combine(program.combiner(), {program.buffers(), view.target}, {program.buffers(), view.source},
                           {program.buffers(), view.operand}));
    break;
  case Op::send_node:
    attempt = try_send(program, view, epoch, help);
    break;
  case Op::recv_node:
    attempt = try_recv(program, view, index, epoch);
    break;
  default:
    program.require(false); // posted ones are never in these lists
    break;
  }
  if (attempt == Attempt::done) {
    finish_step(program, *view.step);
  }
  return attempt;
}

// Both return the most that any step came to.
Attempt try_ready(const Program& program, std::uint64_t epoch, Help help) {
  EpochState& state = program.block().state;
  std::uint32_t* ready = program.ready();
  Attempt most = Attempt::nothing;
  while (const std::uint32_t count = program.checked_count(state.ready_count)) {
    state.ready_count = count - 1;
    const std::uint32_t index = program.checked_step(ready[count - 1]);
    // A send with nothing beside it puts a piece into the ring before it announces its message.
    const bool is_only_one = count == 1 && state.waiting_count == 0;
    const Attempt attempt =
        try_step(program, index, epoch, help != Help::none && is_only_one ? Help::everywhere : help);
    most = std::max(most, attempt);
    if (attempt != Attempt::done) {
      program.push(program.waiting(), state.waiting_count, index);
    }
  }
  return most;
}

Attempt try_waiting(const Program& program, std::uint64_t epoch, Help help) {
  EpochState& state = program.block().state;
  std::uint32_t* waiting = program.waiting();
  Attempt most = Attempt::nothing;
  for (std::uint32_t i = 0; i < program.checked_count(state.waiting_count);) {
    const std::uint32_t index = program.checked_step(waiting[i]);
    if (help == Help::everywhere && program.step(index).step->op != Op::send_node) {
      ++i;
      continue; // only sends can do more than they did
    }
    const Attempt attempt = try_step(program, index, epoch, help);
    most = std::max(most, attempt);
    if (attempt == Attempt::done) {
      const std::uint32_t count = program.checked_count(state.waiting_count);
      program.require(count > 0);
      waiting[i] = waiting[count - 1];
      state.waiting_count = count - 1;
    } else {
      ++i;
    }
  }
  return most;
}

} // namespace

void begin_epoch(const Program& program, std::uint64_t epoch) {
  const LoweredProgram& lowered = program.lowered();
  Block& block = program.block();
  EpochState& state = block.state;
  state.steps_left = lowered.steps - lowered.left_out;
  state.ready_count = lowered.local_roots;
  state.wire_count = lowered.wire_roots;
  state.wire_begin = 0;
  state.waiting_count = 0;
  std::copy_n(lowered.root_list.begin(), lowered.local_roots, program.ready());
  std::copy_n(lowered.root_list.begin() + lowered.local_roots, lowered.wire_roots, program.wire());
  if (lowered.has_dependencies != 0) {
    std::ranges::copy(lowered.predecessor_list, program.remaining());
  }
  block.wire_began_at = 0;
  block.error.store(0, std::memory_order_relaxed);
  block.started.store(epoch, std::memory_order_release);
}

bool advance(const Program& program, std::uint64_t epoch, ExecutorId executor) {
  const bool in_call = executor == rank_executor;
  const Help help = in_call ? Help::where_combined : Help::none;
  Attempt most = Attempt::nothing;
  do {
    most = std::max(most, try_ready(program, epoch, help));
    // A finished step may make others ready, and those may finish what was found waiting.
    most = std::max(most, try_waiting(program, epoch, help));
  } while (program.block().state.ready_count != 0);
  if (most < Attempt::moved && in_call && program.has_pieces()) {
    most = std::max(most, try_waiting(program, epoch, Help::everywhere));
  }
  return most != Attempt::nothing;
}

void finish_wire_step(const Program& program, const WireEvent& event) {
  const StepView view = program.step(event.step);
  Block& block = program.block();
  program.posted()[event.step] = 0;
  if (program.lowered().timed != 0) {
    block.wire_ended_at = now_ns();
  }
  if (event.error != 0) {
    record_error(block, event.error, event.text.c_str());
    block.out_of_step |= event.out_of_step;
  } else if (view.step->op == Op::recv_wire) {
    note_length(program, view, event.step, event.bytes);
    const bool any_sizes = program.lowered().any_sizes != 0; // such calls need memory of the arena for each epoch
    if (any_sizes ? event.bytes == 0 : event.bytes < view.step->bytes) { // see Wire::post
      record_not_fetched(program, view, any_sizes ? Code::resource : Code::access,
                         "its sender has failed before, or has no memory for it, or no access to it");
    } else if (std::byte* const bounce = view.step->bounce != 0 ? program.bounce(*view.step) : event.data.get()) {
      check_transfer(program, view, receive(program, view, bounce, event.bytes));
    }
  }
  finish_step(program, *view.step);
}

bool publish_if_complete(const Program& program, std::uint64_t epoch, Publisher publisher) {
  Block& block = program.block();
  if (block.state.steps_left != 0) {
    return false;
  }
  if (program.lowered().timed != 0) {
    block.completed_at = now_ns();
  }
  if (program.lowered().exclusive != 0 || publisher == Publisher::waiting_rank) {
    block.completed.publish(epoch);
  } else {
    block.completed.publish(epoch, program.rank_root().completion);
  }
  return true;
}

bool plausible(const Program& program, std::uint64_t epoch) {
  Block& block = program.block();
  EpochState& state = block.state;
  const LoweredProgram& lowered = program.lowered();
  // Another thread may execute an inline request meanwhile, and checks by itself what is not atomic.
  const bool owns = lowered.exclusive == 0;
  if (owns && !block.ownership.try_acquire(rank_executor)) {
    return block.ownership.owner() <= rank_executor; // somebody else is looking at the rest
  }
  bool right = true;
  if (owns) {
    const std::uint32_t counts[] = {load_once(state.steps_left), load_once(state.ready_count),
                                    load_once(state.waiting_count), load_once(state.wire_count)};
    right = std::ranges::all_of(counts, [&](std::uint32_t count) { return count <= lowered.steps; }) &&
            load_once(state.wire_begin) <= counts[3];
  }
  right = right && block.started.load(std::memory_order_relaxed) == epoch && block.completed.epoch() <= epoch &&
          block.submitted.load(std::memory_order_relaxed) <= epoch &&
          block.retired.load(std::memory_order_relaxed) <= epoch;
  for (std::uint32_t i = 0; owns && i < lowered.predecessor_list.size(); ++i) {
    right = right && load_once(program.remaining()[i]) <= lowered.predecessor_list[i];
  }
  for (std::uint32_t i = 0; i < lowered.step_list.size() && right; ++i) {
    const StepView view = program.step(i);
    if (owns && view.channel != nullptr && view.channel->piece_bytes != 0) {
      right = plausible_pieces(view, epoch);
    } else if (view.step->op == Op::send_node) {
      right = right && view.taken->epoch.load(std::memory_order_relaxed) <= epoch;
    } else if (view.step->op == Op::recv_node) { // whose sender may be ahead by as many epochs as there are slots
      right = right && slot_of(view, 0).ready.load(std::memory_order_relaxed) <= epoch + 2 &&
              slot_of(view, 1).ready.load(std::memory_order_relaxed) <= epoch + 2;
    }
  }
  if (owns) {
    block.ownership.release();
  }
  return right;
}

} // namespace stoker::engine
