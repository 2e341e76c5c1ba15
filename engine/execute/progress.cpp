// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/progress.hpp"

#include "engine/base/error.hpp"
#include "engine/execute/executor.hpp"

#include <exception>

namespace stoker::engine {

void Progress::adopt(Task& task, std::uint64_t epoch, std::uint64_t now_ns) {
  const OneThread::Use use(one_thread_);
  youngest_ns_ = now_ns;
  task.latest = epoch;
  if (!task.listed) {
    task.listed = true;
    tasks_.push_back(&task);
  }
}

void Progress::forget(const Task& task) {
  const OneThread::Use use(one_thread_);
  std::erase(tasks_, &task);
  wire_.forget(task);
  window_steps_.forget(task);
}

bool Progress::poll() {
  const OneThread::Use use(one_thread_);
  bool moved = wire_.poll();
  moved |= window_steps_.poll();
  for (std::size_t i = 0; i < tasks_.size();) {
    Task& task = *tasks_[i];
    Outcome outcome;
    try {
      outcome = run(task);
    } catch (const std::exception&) { // Error, or std::bad_alloc
      task.damaged = true;
      task.program.give_up();
      task.program.block().ownership.release();
    }
    moved |= outcome.moved;
    if (task.damaged) { // it stays listed, lest it be used again
      tasks_[i] = tasks_.back();
      tasks_.pop_back();
    } else if (outcome.done) {
      tasks_[i] = tasks_.back();
      tasks_.pop_back();
      task.listed = false;
      // Last access to the block: the rank may give its memory back from here on (see ownership.hpp).
      task.program.block().retired.store(task.latest, std::memory_order_release);
    } else {
      ++i;
    }
  }
  return moved;
}

bool Progress::post(Task& task) {
  EpochState& state = task.program.block().state;
  const LoweredProgram& lowered = task.program.lowered();
  const std::uint32_t count = task.program.checked_count(state.wire_count);
  const std::uint32_t begin = task.program.checked_count(state.wire_begin);
  std::uint32_t at = begin;
  for (; at < count && task.in_flight < lowered.most_posted; ++at) {
    const std::uint32_t step = task.program.checked_step(task.program.wire()[at]);
    task.program.require(task.program.is_posted(step));
    const StepView view = task.program.step(step);
    ++task.in_flight;
    is_window(view.step->op) ? window_steps_.post(task, step, view) : wire_.post(task, step, view);
  }
  state.wire_begin = at;
  return at > begin;
}

Progress::Outcome Progress::run(Task& task) {
  Block& block = task.program.block();
  const bool exclusive = task.program.lowered().exclusive != 0;
  if (!exclusive && !block.ownership.try_acquire(id_)) {
    return {}; // the rank assists
  }
  // The epoch that runs need not be the one that was adopted: the rank may have completed that by itself, and be about
  // to start the next. After this check it is.
  Outcome outcome;
  outcome.done = block.completed.reached(task.latest);
  task.program.require(outcome.done ? task.in_flight == 0
                                    : block.started.load(std::memory_order_relaxed) == task.latest);
  if (!outcome.done) {
    if (task.bound != task.latest && task.program.lowered().buffers_change != 0 && !exclusive) {
      task.bound = task.latest; // not before: the rank writes them when no epoch runs
      task.program.take_epoch();
    }
    outcome.moved = !task.events.empty();
    task.in_flight -= static_cast<std::uint32_t>(task.events.size());
    for (const WireEvent& event : task.events) {
      finish_wire_step(task.program, event);
    }
    task.events.clear();
    // Messages to other nodes first: local steps can run while these travel.
    outcome.moved |= post(task);
    outcome.moved |= advance(task.program, task.latest, id_);
    outcome.moved |= post(task);
    task.program.require(task.in_flight == 0 || block.state.steps_left != 0);
    outcome.done = publish_if_complete(task.program, task.latest, Publisher::helper);
  }
  if (!exclusive) {
    block.ownership.release();
  }
  return outcome;
}

} // namespace stoker::engine
