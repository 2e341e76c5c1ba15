// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/executor.hpp"

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace stoker::engine {
namespace {

ChannelSlot& slot_of(const StepView& view, std::uint64_t epoch) {
  return *reinterpret_cast<ChannelSlot*>(view.ready + ((epoch & 1) * view.channel->slot_bytes));
}

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

void record_not_fetched(const Program& program, const StepView& view, Code code, const char* reason) {
  char text[sizeof(Block::error_text)];
  const bool sends = view.step->op == Op::send_node;
  std::snprintf(text, sizeof text, "rank %d: the message of %llu bytes %s rank %d could not be %s: %s",
                program.lowered().rank, static_cast<unsigned long long>(view.step->bytes), sends ? "to" : "from",
                view.step->peer, sends ? "read" : "fetched", reason);
  record_error(program.block(), static_cast<int>(code), text);
}

void check_transfer(const Program& program, const StepView& view, int failure) {
  if (failure != 0) {
    record_not_fetched(program, view,
                       failure == ESRCH    ? Code::peer_lost
                       : failure == ENOMEM ? Code::resource
                                           : Code::access,
                       std::strerror(failure)); // NOLINT(concurrency-mt-unsafe): the table of texts is constant
  }
}

// Returns whether the step is done.
bool try_send(const Program& program, const StepView& view, std::uint64_t epoch) {
  ChannelSlot& slot = slot_of(view, epoch);
  if (view.step->bytes <= program.lowered().eager_bytes) {
    // The slot was last used two epochs ago; its content must have been taken. The word lies in the receiver's cache,
    // so it is not read while what was read before is enough.
    std::uint64_t& known = program.known_taken(*view.step);
    if (known + 2 < epoch) {
      const std::uint64_t taken = view.taken->epoch.load(std::memory_order_acquire); // released in try_recv
      program.require(taken < epoch);
      known = taken;
      if (known + 2 < epoch) {
        return false;
      }
    }
    const int failure = gather(slot.payload(), program.buffers(), view.source);
    check_transfer(program, view, failure);
    slot.length = failure == 0 ? view.step->bytes : ChannelSlot::unread | static_cast<std::uint64_t>(failure);
    slot.ready.store(epoch, std::memory_order_release); // acquired in try_recv
    return true;
  }
  const std::uint64_t taken = view.taken->epoch.load(std::memory_order_acquire); // released in try_recv
  program.require(taken <= epoch);
  if (taken != epoch && view.taken->announced != epoch) {
    view.taken->announced = epoch;
    slot.length = view.step->bytes | ChannelSlot::at_sender;
    slot.ready.store(epoch, std::memory_order_release); // acquired in try_recv
  }
  return taken == epoch;
}

// Finishes a recv whose message lies at `message`.
int receive(const Program& program, const StepView& view, const Place& message) {
  const Place target{program.buffers(), view.target};
  const Place other{program.buffers(), view.operand};
  switch (view.step->message) {
  case algos::Operand::left:
    return combine(program.combiner(), target, message, other);
  case algos::Operand::right:
    return combine(program.combiner(), target, other, message);
  case algos::Operand::none:
    break;
  }
  return transfer(target.views, target.slices, message.views, message.slices);
}

int receive(const Program& program, const StepView& view, std::byte* message, std::uint64_t bytes) {
  return receive(program, view, Contiguous(message, bytes).place());
}

// Less may come than was expected, as with MPI, and not more.
void note_length(const Program& program, const StepView& view, std::uint32_t index, std::uint64_t bytes) {
  const LoweredStep& step = *view.step;
  if (bytes > step.bytes) {
    char text[sizeof(Block::error_text)];
    std::snprintf(text, sizeof text, "rank %d: the message from rank %d has %llu bytes; expected %llu at most",
                  program.lowered().rank, step.peer, static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(step.bytes));
    record_error(program.block(), static_cast<int>(Code::mismatch), text);
  } else if (program.lowered().any_sizes != 0) {
    program.bytes_received(index) = bytes;
  }
}

bool try_recv(const Program& program, const StepView& view, std::uint32_t index, std::uint64_t epoch) {
  ChannelSlot& slot = slot_of(view, epoch);
  if (slot.ready.load(std::memory_order_acquire) != epoch) { // released in try_send
    return false;
  }
  const std::uint64_t length_word = copy_once(slot.length);
  const std::uint64_t length = length_word & ~(ChannelSlot::at_sender | ChannelSlot::unread);
  const bool any_sizes = program.lowered().any_sizes != 0;
  const bool unread = (length_word & ChannelSlot::unread) != 0;
  program.require(unread ? length != 0 : any_sizes || length == view.step->bytes);
  if (unread) { // the epoch has failed on both ranks
    check_transfer(program, view, static_cast<int>(length));
    view.taken->epoch.store(epoch, std::memory_order_release); // as below
    return true;
  }
  note_length(program, view, index, length);
  if ((length_word & ChannelSlot::at_sender) == 0) {
    program.require(sizeof slot + length <= view.channel->slot_bytes);
    check_transfer(program, view, receive(program, view, slot.payload(), length));
  } else if (const auto message = program.message_of(view)) {
    check_transfer(program, view, receive(program, view, {message->buffers.views, message->slices}));
  } else { // it counts as received, so that this rank is not left waiting
    record_not_fetched(program, view, Code::peer_lost, "the sender's shared memory is damaged");
  }
  view.taken->epoch.store(epoch, std::memory_order_release); // acquired in try_send
  return true;
}

bool try_step(const Program& program, std::uint32_t index, std::uint64_t epoch) {
  const StepView view = program.step(index);
  bool done = true;
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
    done = try_send(program, view, epoch);
    break;
  case Op::recv_node:
    done = try_recv(program, view, index, epoch);
    break;
  default:
    program.require(false); // posted ones are never in these lists
    break;
  }
  if (done) {
    finish_step(program, *view.step);
  }
  return done;
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

bool advance(const Program& program, std::uint64_t epoch) {
  EpochState& state = program.block().state;
  const std::uint32_t before = state.steps_left;
  std::uint32_t* ready = program.ready();
  std::uint32_t* waiting = program.waiting();
  // A finished step may make others ready, and those may finish what was found waiting.
  for (;;) {
    while (const std::uint32_t count = program.checked_count(state.ready_count)) {
      state.ready_count = count - 1;
      const std::uint32_t index = program.checked_step(ready[count - 1]);
      if (!try_step(program, index, epoch)) {
        program.push(waiting, state.waiting_count, index);
      }
    }
    for (std::uint32_t i = 0; i < program.checked_count(state.waiting_count);) {
      if (try_step(program, program.checked_step(waiting[i]), epoch)) {
        const std::uint32_t count = program.checked_count(state.waiting_count);
        program.require(count > 0);
        waiting[i] = waiting[count - 1];
        state.waiting_count = count - 1;
      } else {
        ++i;
      }
    }
    if (state.ready_count == 0) {
      return state.steps_left != before;
    }
  }
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
  } else if (view.step->op == Op::recv_wire) {
    note_length(program, view, event.step, event.bytes);
    if (event.bytes == 0 && program.lowered().any_sizes != 0) { // see Wire::post
      record_not_fetched(program, view, Code::resource, "its sender has no memory for it, or no access to it");
    } else if (std::byte* const bounce = view.step->bounce != 0 ? program.bounce(*view.step) : event.data.get()) {
      check_transfer(program, view, receive(program, view, bounce, event.bytes));
    }
  }
  finish_step(program, *view.step);
}

void record_error(Block& block, int error, const char* text) {
  if (block.error.load(std::memory_order_relaxed) == 0) {
    std::snprintf(block.error_text, sizeof block.error_text, "%s", text);
    block.has_failed = true;
    block.error.store(error, std::memory_order_relaxed);
  }
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
    if (view.step->op == Op::send_node) {
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
