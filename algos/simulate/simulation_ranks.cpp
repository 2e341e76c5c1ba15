// SPDX-License-Identifier: BSD-3-Clause
// The simulator's ranks and helpers: who carries out a step, and when.
//
// A rank that makes its own progress carries out tasks inside Start, Test and Wait. Start and Test end when there is
// nothing to do. With helpers a rank only submits in Start; in Wait it carries out its own steps within the node, as
// the engine's ranks do. A helper that shares its carrier's core looks for work at intervals while the carrier
// computes, and each task takes its time from that computation; while the carrier waits, its thread does the helper's
// work.
#include "algos/simulate/simulation.hpp"

#include <algorithm>
#include <cmath>

namespace stoker::algos {

std::uint32_t Simulation::processor_of(std::uint32_t rank, bool within_node) const {
  if (scenario_.progress == Progress::rank || (within_node && ranks_[rank].state == Rank::State::waiting)) {
    return rank;
  }
  return places_.ranks() + places_.helper(rank);
}

bool Simulation::shares_core(std::uint32_t processor) const {
  return scenario_.progress == Progress::shared_helper && is_helper(processor) &&
         ranks_[places_.carrier(processor - places_.ranks())].state == Rank::State::computing;
}

void Simulation::start(std::uint32_t rank) {
  Rank& me = ranks_[rank];
  me.begin = now_;
  me.computation_left = scenario_.computation;
  if (scenario_.progress == Progress::rank) {
    me.state = Rank::State::in_call;
    processors_[rank].available = true;
    begin_steps(rank);
    if (me.state == Rank::State::in_call && !processors_[rank].busy && processors_[rank].idle()) {
      leave_call(rank);
    }
    return;
  }
  const HelperCost& helper = machine_.helper;
  observe(rank, Activity::Kind::start, rank, -1, 0, now_, now_ + helper.submit);
  events_.push({now_ + helper.submit + helper.notice, Event::Kind::submitted, rank});
  now_ += helper.submit; // the rank's own time: nothing else happens in this call
  if (scenario_.progress == Progress::shared_helper && places_.carrier(places_.helper(rank)) == rank &&
      helper.nap > 0) {
    // Looks that find nothing take their time, too.
    me.computation_left *= 1 + ((helper.wake_up + helper.poll) / helper.nap);
  }
  compute(rank);
}

void Simulation::begin_steps(std::uint32_t rank) {
  const Skeleton& skeleton = skeletons_.of(rank);
  for (StepId step = 0; step < skeleton.size(); ++step) {
    if (skeleton.steps[step].predecessors == 0) {
      ready(rank, step);
    }
  }
  take_early();
}

// From now on until the next Test, or the end of the computation.
void Simulation::compute(std::uint32_t rank) {
  Rank& me = ranks_[rank];
  if (me.computation_left <= 0) {
    begin_wait(rank);
    return;
  }
  const bool tests = scenario_.progress == Progress::rank && scenario_.test_every > 0;
  const double seconds = tests ? std::min(scenario_.test_every, me.computation_left) : me.computation_left;
  me.computation_left -= seconds;
  me.state = Rank::State::computing;
  processors_[rank].available = false;
  me.computes_since = std::max(now_, processors_[rank].posts_until);
  me.computes_until = end_of_work(me.computes_since, seconds, machine_.noise, processors_[rank].phase);
  events_.push({me.computes_until, Event::Kind::computed, rank});
}

void Simulation::computed(std::uint32_t rank) {
  Rank& me = ranks_[rank];
  if (now_ < me.computes_until) { // a helper has taken time from it
    events_.push({me.computes_until, Event::Kind::computed, rank});
    return;
  }
  observe(rank, Activity::Kind::compute, rank, -1, 0, me.computes_since, now_);
  if (me.computation_left <= 0) {
    begin_wait(rank);
    return;
  }
  me.state = Rank::State::in_call;
  processors_[rank].available = true;
  if (processors_[rank].idle()) {
    leave_call(rank);
  } else {
    next_task(rank);
  }
}

void Simulation::leave_call(std::uint32_t rank) { compute(rank); }

void Simulation::begin_wait(std::uint32_t rank) {
  Rank& me = ranks_[rank];
  me.state = Rank::State::waiting;
  me.computes_since = now_;
  if (me.steps_left == 0) {
    end_wait(rank);
  }
  if (scenario_.progress != Progress::rank) {
    processors_[rank].available = true;
    const std::uint32_t helper = places_.ranks() + places_.helper(rank);
    if (places_.carrier(places_.helper(rank)) == rank) {
      next_task(helper);
    }
    return;
  }
  processors_[rank].available = true;
  next_task(rank);
}

void Simulation::end_wait(std::uint32_t rank) {
  Rank& me = ranks_[rank];
  if (me.state == Rank::State::finished) {
    return;
  }
  me.state = Rank::State::finished;
  me.end = now_;
  observe(rank, Activity::Kind::wait, rank, -1, 0, me.computes_since, now_);
}

void Simulation::add_task(std::uint32_t processor, const Task& task) {
  processors_[processor].add(task);
  next_task(processor);
}

void Simulation::look(std::uint32_t processor) {
  processors_[processor].looks_later = false;
  if (shares_core(processor) && !processors_[processor].idle()) {
    ranks_[places_.carrier(processor - places_.ranks())].computes_until += machine_.helper.wake_up;
  }
  next_task(processor);
}

// Begins the next task if there is one and the processor is free for it.
void Simulation::next_task(std::uint32_t index) {
  Processor& processor = processors_[index];
  if (processor.busy || processor.idle() || !processor.available) {
    return;
  }
  const bool shares = shares_core(index);
  if (shares && now_ < processor.next_look) {
    if (!processor.looks_later) {
      processor.looks_later = true;
      events_.push({processor.next_look, Event::Kind::look, index});
    }
    return;
  }
  const Task task = processor.take();
  Work work = work_of(task, processor);
  work.seconds += is_helper(index) ? machine_.helper.poll : 0;
  const double begin = std::max(now_, processor.posts_until);
  double end = end_of_work(begin, work.seconds, machine_.noise, processor.phase);
  if (work.memory_bytes > 0 && machine_.memory_per_byte > 0) {
    double& free_from = memory_free_from_[places_.domain(task.rank)];
    free_from = std::max(free_from, begin) + (static_cast<double>(work.memory_bytes) * machine_.memory_per_byte);
    end = std::max(end, free_from);
  }
  if (shares) {
    ranks_[places_.carrier(index - places_.ranks())].computes_until += end - now_;
  }
  processor.busy = true;
  processor.busy_seconds += end - begin;
  processor.current = task;
  processor.current_end = end;
  if (observed_[index]) {
    observe(index, task, begin, end);
  }
  events_.push({end, Event::Kind::done, index});
}

void Simulation::task_done(std::uint32_t index) {
  Processor& processor = processors_[index];
  processor.busy = false;
  const Task task = processor.current;
  carry_out(task);
  if (processors_[index].busy) { // carrying it out began the next
    return;
  }
  if (!processors_[index].idle()) {
    next_task(index);
    return;
  }
  if (is_helper(index)) {
    processors_[index].next_look = now_ + machine_.helper.nap;
  } else if (ranks_[index].state == Rank::State::in_call) {
    leave_call(index);
  }
}

void Simulation::observe(std::uint32_t processor, Activity::Kind kind, std::uint32_t rank, std::int32_t peer,
                         std::uint64_t bytes, double begin, double end) {
  if (observed_[processor] && end > begin) {
    activities_.push_back({.processor = static_cast<std::int32_t>(processor),
                           .kind = kind,
                           .rank = static_cast<std::int32_t>(rank),
                           .peer = peer,
                           .bytes = bytes,
                           .begin = begin,
                           .end = end});
  }
}

void Simulation::observe(std::uint32_t processor, const Task& task, double begin, double end) {
  if (task.kind != Task::Kind::step) {
    const Message& message = links_[task.index];
    const bool sends = task.kind == Task::Kind::transmit || task.kind == Task::Kind::finish;
    observe(processor, sends ? Activity::Kind::send : Activity::Kind::receive, task.rank,
            static_cast<std::int32_t>(sends ? message.target : message.source), message.bytes, begin, end);
    return;
  }
  const Skeleton::Step& step = skeletons_.of(task.rank).steps[task.index];
  const bool delivers_data = delivers(step.kind);
  observe(processor,
          delivers_data                   ? Activity::Kind::send
          : step.kind == StepKind::reduce ? Activity::Kind::combine
                                          : Activity::Kind::copy,
          task.rank, delivers_data ? static_cast<std::int32_t>(peer_of(task.rank, step)) : -1, step.bytes, begin, end);
}

} // namespace stoker::algos
