// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/wire.hpp"

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/execute/progress.hpp"
#include "engine/transport/window.hpp"

#include <cerrno>
#include <new>
#include <string>
#include <utility>

namespace stoker::engine {
namespace {

std::string failure(const Task& task, bool outgoing, int peer, const std::string& text) {
  return "rank " + std::to_string(task.program.lowered().rank) + ": the message " + (outgoing ? "to" : "from") +
         " rank " + std::to_string(peer) + " failed: " + text;
}

} // namespace

void Wire::post(Task& task, std::uint32_t step, const StepView& view) {
  const LoweredStep& s = *view.step;
  const bool sending = s.op == Op::send_wire;
  Sent sent{.task = &task, .step = step, .peer = s.peer, .outgoing = sending};
  std::byte* buffer = nullptr;
  if (s.bounce != 0) {
    buffer = task.program.bounce(s);
  } else {
    buffer = contiguous(task.program.buffers(), sending ? view.source : view.target);
  }
  const bool in_place = s.bounce == 0 && buffer != nullptr;
  if (buffer == nullptr && s.bytes > 0) { // the rank's shared memory had no room for a bounce
    sent.data.reset(new (std::nothrow) std::byte[s.bytes]);
    buffer = sent.data.get();
  }
  task.program.posted()[step] = 1;
  if (buffer == nullptr && s.bytes > 0 && !sending) { // nobody takes the message, then
    task.events.push_back({.step = step,
                           .error = static_cast<int>(Code::resource),
                           .out_of_step = true,
                           .text = failure(task, false, s.peer, "there is no memory for it")});
    return;
  }
  // What cannot be read, or comes of what has failed, goes all the same, so that the receiver is not left waiting; but
  // without its bytes, by which the receiver knows. Where sizes may be any no other message has no bytes.
  const bool any_sizes = task.program.lowered().any_sizes != 0;
  if (sending) {
    sent.failure = task.program.sends_on_failure()    ? ECANCELED
                   : buffer == nullptr && s.bytes > 0 ? ENOMEM
                   : in_place                         ? 0
                                                      : gather(buffer, task.program.buffers(), view.source);
  }
  Block& block = task.program.block();
  if (sending && task.program.lowered().timed != 0 && block.wire_began_at == 0) {
    block.wire_began_at = now_ns();
  }
  const std::uint32_t message = messages_.post({.outgoing = sending,
                                                .data = buffer,
                                                .bytes = any_sizes && sent.failure != 0 ? 0 : s.bytes,
                                                .at_most = any_sizes,
                                                .empty = !any_sizes && sent.failure != 0,
                                                .peer = s.endpoint,
                                                .tag = s.tag,
                                                .put = s.put,
                                                .memory = task.window,
                                                .target = s.window_rank,
                                                .displacement = s.displacement});
  if (message >= steps_.size()) {
    steps_.resize(message + 1);
  }
  steps_[message] = std::move(sent);
}

void Wire::forget(const Task& task) {
  for (Sent& sent : steps_) {
    sent.task = sent.task == &task ? nullptr : sent.task;
  }
}

bool Wire::poll() {
  const auto& done = messages_.poll();
  for (const Messages::Outcome& outcome : done) {
    Sent& sent = steps_[outcome.message];
    auto data = std::move(sent.data);
    if (sent.task == nullptr) {
      continue;
    }
    if (sent.failure != 0) {
      const Code code = sent.failure == ENOMEM ? Code::resource : Code::access;
      sent.task->events.push_back({.step = sent.step,
                                   .error = static_cast<int>(code),
                                   .out_of_step = outcome.out_of_step,
                                   .text = "the send buffer could not be read"});
    } else if (outcome.error != MPI_SUCCESS) {
      sent.task->events.push_back(
          {.step = sent.step,
           .error = static_cast<int>(Code::mpi),
           .out_of_step = outcome.out_of_step,
           .text = failure(*sent.task, sent.outgoing, sent.peer, messages_.text_of(outcome.error))});
    } else {
      sent.task->events.push_back({.step = sent.step, .bytes = outcome.bytes, .data = std::move(data)});
    }
  }
  return !done.empty();
}

} // namespace stoker::engine
