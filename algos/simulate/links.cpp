// SPDX-License-Identifier: BSD-3-Clause
#include "algos/simulate/links.hpp"

#include <algorithm>

namespace stoker::algos {

Links::Links(const Places& places, const Machine& machine) : places_(places), machine_(machine) {
  const std::uint32_t ports = places.nodes() * static_cast<std::uint32_t>(std::max(1, machine.ports));
  const std::uint32_t switches = places.switches();
  const bool dragonfly = machine.network.kind == Network::Kind::dragonfly;
  ports_out_ = places.ranks();
  ports_in_ = ports_out_ + ports;
  up_ = ports_in_ + ports;
  down_ = up_ + (dragonfly ? switches * switches : switches);
  links_.resize(down_ + (dragonfly ? 0 : switches));
  if (machine.network.kind != Network::Kind::crossbar && switches > 1) {
    const double ports_of_switch = static_cast<double>(machine.network.nodes_per_switch) * std::max(1, machine.ports);
    const double links_of_switch = dragonfly ? static_cast<double>(switches - 1) : 1.0;
    per_byte_between_switches_ =
        machine.port.seconds_per_byte * machine.network.taper * links_of_switch / ports_of_switch;
  }
}

std::uint32_t Links::add(const Message& message) {
  if (unused_.empty()) {
    messages_.push_back(message);
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }
  const std::uint32_t index = unused_.back();
  unused_.pop_back();
  messages_[index] = message;
  return index;
}

std::uint32_t Links::link_of(const Message& message) const {
  const std::uint32_t from = places_.switch_of(message.source);
  const std::uint32_t to = places_.switch_of(message.target);
  switch (message.stage) {
  case stream:
    return message.source;
  case port_out:
    return ports_out_ + places_.port(message.source);
  case up:
    return up_ + (machine_.network.kind == Network::Kind::dragonfly ? (from * places_.switches()) + to : from);
  case down:
    return down_ + to;
  default:
    return ports_in_ + places_.port(message.target);
  }
}

double Links::time_of(const Message& message) const {
  const auto bytes = static_cast<double>(message.bytes);
  switch (message.stage) {
  case stream: {
    const MessageCost& cost = machine_.at(places_.distance(message.source, message.target));
    return std::max(cost.gap, bytes * cost.gap_per_byte);
  }
  case up:
  case down:
    return bytes * per_byte_between_switches_;
  default:
    return machine_.port.of(message.bytes);
  }
}

bool Links::skips(const Message& message) const {
  if (message.stage != up && message.stage != down) {
    return false;
  }
  return per_byte_between_switches_ == 0 || places_.switch_of(message.source) == places_.switch_of(message.target) ||
         (message.stage == down && machine_.network.kind == Network::Kind::dragonfly);
}

void Links::send(std::uint32_t message, double now, EventQueue& events) {
  messages_[message].tail = now;
  messages_[message].stage = stream;
  at_link(message, now, events);
}

void Links::at_link(std::uint32_t message, double now, EventQueue& events) {
  const std::uint32_t index = link_of(messages_[message]);
  Link& link = links_[index];
  if (link.first == none && now >= link.free_from) {
    pass(message, now, events);
    return;
  }
  messages_[message].next = none;
  if (link.first == none) {
    link.first = message;
    events.push({link.free_from, Event::Kind::passed, index});
  } else {
    messages_[link.last].next = message;
  }
  link.last = message;
}

void Links::passed(std::uint32_t link, double now, EventQueue& events) {
  const std::uint32_t message = links_[link].first;
  links_[link].first = messages_[message].next;
  pass(message, now, events);
  if (links_[link].first != none) {
    events.push({links_[link].free_from, Event::Kind::passed, link});
  }
}

void Links::pass(std::uint32_t index, double now, EventQueue& events) {
  Message& message = messages_[index];
  Link& link = links_[link_of(message)];
  const double time = time_of(message);
  link.free_from = now + time;
  link.busy += time;
  message.tail = std::max(message.tail, now + time);
  do {
    ++message.stage;
  } while (message.stage < stages && skips(message));
  if (message.stage == stages) {
    events.push({message.tail, Event::Kind::arrived, index});
    return;
  }
  const double way =
      message.stage == port_in ? machine_.at(places_.distance(message.source, message.target)).latency : 0;
  message.tail += way;
  events.push({now + way, Event::Kind::at_link, index});
}

double Links::busiest_port() const {
  double most = 0;
  for (std::uint32_t port = ports_out_; port < up_; ++port) {
    most = std::max(most, links_[port].busy);
  }
  return most;
}

} // namespace stoker::algos
