// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/executor.hpp"

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"

#include <cstdio>
#include <cstring>

namespace stoker::engine {
namespace {

ChannelSlot& slot_of(const StepView& view, std::uint64_t epoch) {
  return *reinterpret_cast<ChannelSlot*>(view.ready + ((epoch & 1) * view.step->slot_bytes));
}

void finish_step(const Program& program, const LoweredStep& step) {
  Block& block = program.block();
  EpochState& state = block.state;
  --state.steps_left;
  for (const algos::StepId next : program.successors(step)) {
    if (--program.remaining()[next] == 0) {
      if (is_posted(program.step(next).step->op)) {
        program.wire()[state.wire_count++] = next;
      } else {
        program.ready()[state.ready_count++] = next;
      }
    }
  }
}

void check_transfer(const Program& program, const StepView& view, int failure) {
  if (failure == 0) {
    return;
  }
  char text[sizeof(Block::error_text)];
  std::snprintf(text, sizeof text, "rank %d: the message of %llu bytes from rank %d could not be fetched: %s",
                program.block().rank, static_cast<unsigned long long>(view.step->bytes), view.step->peer,
                std::strerror(failure)); // NOLINT(concurrency-mt-unsafe): the table of texts is constant
  record_error(program.block(), static_cast<int>(failure == ESRCH ? Code::peer_lost : Code::access), text);
}

// Returns whether the step is done.
bool try_send(const Program& program, const StepView& view, std::uint64_t epoch) {
  ChannelSlot& slot = slot_of(view, epoch);
  if (view.step->eager) {
    // The slot was last used two epochs ago; its content must have been taken.
    if (view.taken->epoch.load(std::memory_order_acquire) + 2 < epoch) {
      return false;
    }
    check_transfer(program, view, gather(slot.payload(), program.buffers(), view.source));
    slot.length = view.step->bytes;
    slot.ready.store(epoch, std::memory_order_release); // acquired in try_recv
    return true;
  }
  if (view.taken->announced != epoch) {
    view.taken->announced = epoch;
    slot.length = view.step->bytes | ChannelSlot::at_sender;
    slot.ready.store(epoch, std::memory_order_release); // acquired in try_recv
  }
  return view.taken->epoch.load(std::memory_order_acquire) >= epoch; // released in try_recv
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
void note_length(const Program& program, const StepView& view, std::uint64_t bytes) {
  LoweredStep& step = *view.step;
  if (bytes > step.bytes) {
    char text[sizeof(Block::error_text)];
    std::snprintf(text, sizeof text, "rank %d: the message from rank %d has %llu bytes; expected %llu at most",
                  program.block().rank, step.peer, static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(step.bytes));
    record_error(program.block(), static_cast<int>(Code::mismatch), text);
  } else if (program.block().any_sizes != 0) {
    step.bytes = bytes;
  }
}

bool try_recv(const Program& program, const StepView& view, std::uint64_t epoch) {
  ChannelSlot& slot = slot_of(view, epoch);
  if (slot.ready.load(std::memory_order_acquire) != epoch) { // released in try_send
    return false;
  }
  const std::uint64_t length = slot.length & ~ChannelSlot::at_sender;
  note_length(program, view, length);
  if ((slot.length & ChannelSlot::at_sender) == 0) {
    check_transfer(program, view, receive(program, view, slot.payload(), length));
  } else {
    const Program::Message message = program.message_of(view);
    check_transfer(program, view, receive(program, view, {message.views, message.slices}));
  }
  view.taken->epoch.store(epoch, std::memory_order_release); // acquired in try_send
  return true;
}

bool try_step(const Program& program, std::uint32_t index, std::uint64_t epoch) {
  const StepView& view = program.step(index);
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
    done = try_recv(program, view, epoch);
    break;
  default: // posted ones are never in these lists
    done = false;
    break;
  }
  if (done) {
    finish_step(program, *view.step);
  }
  return done;
}

} // namespace

void begin_epoch(Block& block, std::uint64_t epoch) {
  EpochState& state = block.state;
  state.steps_left = block.steps - block.left_out;
  state.ready_count = block.local_roots;
  state.wire_count = block.wire_roots;
  state.waiting_count = 0;
  const auto* roots = in_block<std::uint32_t>(&block, block.roots_at);
  std::memcpy(in_block<std::uint32_t>(&block, block.ready_at), roots, block.local_roots * sizeof *roots);
  if (block.wire_roots > 0) {
    std::memcpy(in_block<std::uint32_t>(&block, block.wire_at), roots + block.local_roots,
                block.wire_roots * sizeof *roots);
  }
  if (block.has_dependencies != 0) {
    const auto* steps = in_block<LoweredStep>(&block, block.steps_at);
    auto* remaining = in_block<std::uint32_t>(&block, block.remaining_at);
    for (std::uint32_t i = 0; i < block.steps; ++i) {
      remaining[i] = steps[i].predecessors;
    }
  }
  block.wire_began_at = 0;
  block.error.store(0, std::memory_order_relaxed);
  block.started.store(epoch, std::memory_order_release);
}

bool advance(const Program& program) {
  Block& block = program.block();
  EpochState& state = block.state;
  const std::uint64_t epoch = block.started.load(std::memory_order_relaxed);
  const std::uint32_t before = state.steps_left;
  std::uint32_t* waiting = program.waiting();
  // A finished step may make others ready, and those may finish what was found waiting.
  for (;;) {
    while (state.ready_count > 0) {
      const std::uint32_t index = program.ready()[--state.ready_count];
      if (!try_step(program, index, epoch)) {
        waiting[state.waiting_count++] = index;
      }
    }
    for (std::uint32_t i = 0; i < state.waiting_count;) {
      if (try_step(program, waiting[i], epoch)) {
        waiting[i] = waiting[--state.waiting_count];
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
  const StepView& view = program.step(event.step);
  Block& block = program.block();
  program.posted()[event.step] = 0;
  if (block.timed != 0) {
    block.wire_ended_at = now_ns();
  }
  if (event.error != 0) {
    record_error(block, event.error, event.text.c_str());
  } else if (view.step->op == Op::recv_wire) {
    note_length(program, view, event.bytes);
    if (view.step->bounce != 0) {
      check_transfer(program, view, receive(program, view, program.bounce(*view.step), event.bytes));
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

bool publish_if_complete(const Program& program, Publisher publisher) {
  Block& block = program.block();
  if (block.state.steps_left != 0) {
    return false;
  }
  if (block.timed != 0) {
    block.completed_at = now_ns();
  }
  const std::uint64_t epoch = block.started.load(std::memory_order_relaxed);
  if (block.exclusive != 0 || publisher == Publisher::waiting_rank) {
    block.completed.publish(epoch);
  } else {
    block.completed.publish(epoch, program.rank_root().completion);
  }
  return true;
}

} // namespace stoker::engine
