// SPDX-License-Identifier: BSD-3-Clause
// The simulator's steps and messages.
//
// Within a node a message is a flag that the sender sets; the receiver's executor then copies, and only then is a long
// send done. What is put the sender copies. Between nodes an eager message goes at once. A long one waits: for the
// answer to a question (rendezvous), or for the receiver to say that it is ready, which it does by itself (announced).
#include "algos/simulate/simulation.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace stoker::algos {

namespace {

std::string name_of_step(std::uint32_t rank, StepId step) {
  return "rank " + std::to_string(rank) + ", step " + std::to_string(step);
}

} // namespace

bool Simulation::is_long(std::uint32_t source, std::uint32_t target, std::uint64_t bytes) const {
  return bytes > machine_.eager_bytes && leaves_node(places_.distance(source, target));
}

Simulation::Work Simulation::work_of_step(std::uint32_t rank, const Skeleton::Step& step) const {
  const auto bytes = static_cast<double>(step.bytes);
  const double pieces = machine_.piece * step.pieces;
  if (!delivers(step.kind)) {
    if (step.bytes == 0) {
      return {};
    }
    const double per_byte = step.kind == StepKind::reduce ? machine_.combine_per_byte : machine_.copy_per_byte;
    return {machine_.copy + (bytes * per_byte) + pieces, step.bytes};
  }
  const std::uint32_t peer = peer_of(rank, step);
  const Distance distance = places_.distance(rank, peer);
  const MessageCost& cost = machine_.at(distance);
  Work work{cost.send_overhead + pieces, 0};
  if (leaves_node(distance)) {
    if (step.pieces > 0) { // is packed
      work.seconds += bytes * machine_.copy_per_byte;
      work.memory_bytes = step.bytes;
    }
    if (!is_long(rank, peer, step.bytes) || scenario_.long_messages == LongMessages::announced) {
      work.seconds += bytes * cost.overhead_per_byte;
    }
  } else if (step.kind == StepKind::put) { // nobody takes it in: the sender copies
    work.seconds += bytes * cost.gap_per_byte;
    work.memory_bytes = step.bytes;
  }
  return work;
}

Simulation::Work Simulation::work_of_receive(const Message& message, const Processor& processor) const {
  const Skeleton::Step& step = skeletons_.of(message.target).steps[message.receive];
  const Distance distance = places_.distance(message.source, message.target);
  const MessageCost& cost = machine_.at(distance);
  const auto bytes = static_cast<double>(message.bytes);
  Work work{cost.receive_overhead + (machine_.piece * step.pieces), 0};
  if (!leaves_node(distance)) {
    work.seconds +=
        bytes * (step.combines ? std::max(cost.gap_per_byte, machine_.combine_per_byte) : cost.gap_per_byte);
    work.memory_bytes = message.bytes;
    return work;
  }
  const bool fetched = message.kind == Message::Kind::rendezvous && machine_.remote_reads;
  if (message.kind != Message::Kind::rendezvous) { // the question was matched before
    work.seconds += machine_.match_per_posted * processor.posted / 2;
  }
  work.seconds += fetched ? 0 : bytes * cost.overhead_per_byte;
  if (step.pieces > 0 || message.unexpected || step.combines) {
    work.seconds += (step.pieces > 0 ? bytes * machine_.copy_per_byte : 0) +
                    (message.unexpected ? bytes * machine_.unexpected_per_byte : 0) +
                    (step.combines ? machine_.copy + (bytes * machine_.combine_per_byte) : 0);
    work.memory_bytes = message.bytes;
  }
  return work;
}

Simulation::Work Simulation::work_of(const Task& task, const Processor& processor) const {
  if (task.kind == Task::Kind::step) {
    return work_of_step(task.rank, skeletons_.of(task.rank).steps[task.index]);
  }
  const Message& message = links_[task.index];
  const MessageCost& cost = machine_.at(places_.distance(message.source, message.target));
  switch (task.kind) {
  case Task::Kind::answer:
    return {cost.receive_overhead + (machine_.match_per_posted * processor.posted / 2), 0};
  case Task::Kind::transmit:
    return {cost.send_overhead + (static_cast<double>(message.bytes) * cost.overhead_per_byte), 0};
  case Task::Kind::receive:
    return work_of_receive(message, processor);
  default:
    return {};
  }
}

void Simulation::ready(std::uint32_t rank, StepId id) {
  const Skeleton::Step& step = skeletons_.of(rank).steps[id];
  if (step.kind == StepKind::recv) {
    post(rank, id);
    return;
  }
  if (step.kind == StepKind::fence) {
    come_to_fence(step.number);
    return;
  }
  bool within_node = true;
  if (delivers(step.kind)) {
    const std::uint32_t peer = peer_of(rank, step);
    within_node = !leaves_node(places_.distance(rank, peer));
    if (step.kind == StepKind::send && scenario_.long_messages == LongMessages::announced &&
        is_long(rank, peer, step.bytes) && (state_of(rank, id) & here_bit) == 0) {
      state_of(rank, id) |= ready_bit;
      return;
    }
  }
  add_task(processor_of(rank, within_node), {Task::Kind::step, rank, id});
}

void Simulation::post(std::uint32_t rank, StepId id) {
  const Skeleton::Step& step = skeletons_.of(rank).steps[id];
  const std::uint32_t peer = peer_of(rank, step);
  const Distance distance = places_.distance(peer, rank);
  state_of(rank, id) |= ready_bit;
  if (leaves_node(distance)) {
    Processor& processor = processors_[processor_of(rank, false)];
    const double free_from = processor.busy ? processor.current_end : now_;
    processor.posts_until = std::max(processor.posts_until, free_from) + machine_.post;
    processor.busy_seconds += machine_.post;
    ++processor.posted;
    if (scenario_.long_messages == LongMessages::announced && is_long(peer, rank, step.bytes)) {
      const StepId send = skeletons_.of(peer).send_to(from_view_of(peer, rank), step.number);
      if (send < skeletons_.of(peer).size() && skeletons_.of(peer).steps[send].kind == StepKind::send) {
        const Message note{.bytes = step.bytes, .source = peer, .target = rank, .send = send, .receive = id};
        events_.push({processor.posts_until + machine_.at(distance).latency, Event::Kind::announced, links_.add(note)});
      }
    }
  }
  if ((state_of(rank, id) & here_bit) != 0) {
    const auto early = early_.extract(key(rank, id));
    const std::uint32_t message = early.mapped();
    switch (links_[message].kind) {
    case Message::Kind::put:
      received(message);
      break;
    case Message::Kind::rendezvous:
      found_early_.push_back({Task::Kind::answer, rank, message});
      break;
    case Message::Kind::eager:
      found_early_.push_back({Task::Kind::receive, rank, message});
      break;
    }
  }
}

void Simulation::take_early() {
  for (const Task& task : std::exchange(found_early_, {})) {
    const Message& message = links_[task.index];
    const bool within_node = !leaves_node(places_.distance(message.source, message.target));
    add_task(processor_of(task.rank, within_node), task);
  }
}

void Simulation::announced(std::uint32_t index) {
  const Message note = links_[index];
  links_.remove(index);
  std::uint32_t& state = state_of(note.source, note.send);
  state |= here_bit;
  if ((state & ready_bit) != 0) {
    add_task(processor_of(note.source, false), {Task::Kind::step, note.source, note.send});
  }
}

// A task is done.
void Simulation::carry_out(const Task& task) {
  switch (task.kind) {
  case Task::Kind::step:
    if (delivers(skeletons_.of(task.rank).steps[task.index].kind)) {
      send(task.rank, task.index);
    } else {
      complete(task.rank, task.index);
    }
    break;
  case Task::Kind::receive:
    received(task.index);
    break;
  case Task::Kind::answer:
    events_.push({now_ + machine_.at(places_.distance(links_[task.index].source, task.rank)).latency,
                  Event::Kind::answered, task.index});
    break;
  case Task::Kind::transmit:
    links_.send(task.index, now_, events_);
    break;
  case Task::Kind::finish: {
    const StepId step = links_[task.index].send;
    links_.remove(task.index);
    complete(task.rank, step);
    break;
  }
  }
}

void Simulation::send(std::uint32_t rank, StepId id) {
  const Skeleton::Step& step = skeletons_.of(rank).steps[id];
  const std::uint32_t peer = peer_of(rank, step);
  const Skeleton& receiver = skeletons_.of(peer);
  const StepId receive = receiver.receive_from(from_view_of(peer, rank), step.number);
  if (receive == receiver.size() || receiver.steps[receive].bytes != step.bytes) {
    throw std::invalid_argument(name_of_step(rank, id) + ": a message of " + std::to_string(step.bytes) +
                                " bytes to rank " + std::to_string(peer) +
                                (receive == receiver.size()
                                     ? ", which does not receive it"
                                     : ", which receives " + std::to_string(receiver.steps[receive].bytes) + " bytes"));
  }
  Message message{.bytes = step.bytes, .source = rank, .target = peer, .send = id, .receive = receive};
  const Distance distance = places_.distance(rank, peer);
  const double latency = machine_.at(distance).latency;
  const bool put = step.kind == StepKind::put;
  message.kind = put ? Message::Kind::put : Message::Kind::eager;
  ++messages_;
  puts_on_their_way_ += put ? 1 : 0;
  if (!leaves_node(distance)) {
    events_.push({now_ + latency, Event::Kind::arrived, links_.add(message)});
    if (put || step.bytes <= machine_.eager_bytes) {
      complete(rank, id);
    }
    return;
  }
  ++network_messages_;
  network_bytes_ += step.bytes;
  double& first = first_sent_[places_.node(rank)];
  first = first < 0 ? now_ : first;
  if (!put && is_long(rank, peer, step.bytes) && scenario_.long_messages == LongMessages::rendezvous) {
    message.kind = Message::Kind::rendezvous;
    message.asks = true;
    events_.push({now_ + latency, Event::Kind::arrived, links_.add(message)});
    return;
  }
  links_.send(links_.add(message), now_, events_);
  complete(rank, id);
}

void Simulation::arrived(std::uint32_t index) {
  Message& message = links_[index];
  std::uint32_t& state = state_of(message.target, message.receive);
  puts_on_their_way_ -= message.kind == Message::Kind::put ? 1 : 0;
  if ((state & ready_bit) == 0) {
    message.unexpected = true;
    state |= here_bit;
    early_.emplace(key(message.target, message.receive), index);
  } else if (message.kind == Message::Kind::put) {
    received(index);
  } else {
    const bool within_node = !leaves_node(places_.distance(message.source, message.target));
    const Task::Kind kind = message.asks ? Task::Kind::answer : Task::Kind::receive;
    add_task(processor_of(message.target, within_node), {kind, message.target, index});
  }
}

void Simulation::answered(std::uint32_t index) {
  Message& message = links_[index];
  if (!message.asks) { // what it comes back with is that the data have been taken
    const bool within_node = !leaves_node(places_.distance(message.source, message.target));
    add_task(processor_of(message.source, within_node), {Task::Kind::finish, message.source, index});
    return;
  }
  message.asks = false;
  message.unexpected = false;
  if (machine_.remote_reads) {
    links_.send(index, now_, events_);
  } else {
    add_task(processor_of(message.source, false), {Task::Kind::transmit, message.source, index});
  }
}

void Simulation::received(std::uint32_t index) {
  const Message message = links_[index];
  const Distance distance = places_.distance(message.source, message.target);
  if (leaves_node(distance)) {
    --processors_[processor_of(message.target, false)].posted;
    last_arrived_[places_.node(message.target)] = now_;
  }
  const bool sender_waits =
      message.kind == Message::Kind::rendezvous ||
      (message.kind == Message::Kind::eager && !leaves_node(distance) && message.bytes > machine_.eager_bytes);
  if (sender_waits) {
    events_.push({now_ + machine_.at(distance).latency, Event::Kind::answered, index});
  } else {
    links_.remove(index);
  }
  complete(message.target, message.receive);
}

void Simulation::complete(std::uint32_t rank, StepId id) {
  ++steps_done_;
  const Skeleton& skeleton = skeletons_.of(rank);
  for (const StepId next : skeleton.successors_of(id)) {
    if ((--state_of(rank, next) & ~(ready_bit | here_bit)) == 0) {
      ready(rank, next);
    }
  }
  take_early();
  if (--ranks_[rank].steps_left == 0 && ranks_[rank].state == Rank::State::waiting) {
    if (scenario_.progress == Progress::rank) {
      end_wait(rank);
    } else {
      events_.push({now_ + machine_.helper.notice, Event::Kind::noticed, rank});
    }
  }
}

void Simulation::come_to_fence(std::uint32_t fence) {
  come_.resize(std::max<std::size_t>(come_.size(), fence + 1));
  if (++come_[fence] == places_.ranks()) {
    events_.push({now_ + fence_seconds_, Event::Kind::met, fence});
  }
}

void Simulation::met(std::uint32_t fence) {
  if (puts_on_their_way_ > 0) { // looks again after the time of one message
    events_.push({now_ + std::max(fence_seconds_, 1e-9), Event::Kind::met, fence});
    return;
  }
  for (std::uint32_t rank = 0; rank < places_.ranks(); ++rank) {
    complete(rank, skeletons_.of(rank).fences[fence]);
  }
}

} // namespace stoker::algos
