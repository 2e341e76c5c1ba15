// SPDX-License-Identifier: BSD-3-Clause
// The messages between nodes, and the links that they share: each rank's stream, the nodes' ports, and the links
// between switches. A link passes one message after the other, and its head goes on at once: it cuts through.
#pragma once

#include "algos/select/machine.hpp"
#include "algos/simulate/events.hpp"
#include "algos/simulate/places.hpp"

#include <cstdint>
#include <vector>

namespace stoker::algos {

struct Message {
  enum class Kind : std::uint8_t { eager, rendezvous, put };
  double tail = 0; // when its last byte arrives, as far as the links that it has come to have it
  std::uint64_t bytes = 0;
  std::uint32_t source = 0, target = 0; // ranks
  std::uint32_t send = 0, receive = 0;  // their steps
  std::uint32_t next = 0;               // behind it in the queue of a link
  std::uint8_t stage = 0;
  Kind kind = Kind::eager;
  bool asks = false;       // so far it is the question before a long message
  bool unexpected = false; // was there before its receive was posted
};

class Links {
public:
  Links(const Places& places, const Machine& machine);

  // The index of a new message, and the message.
  std::uint32_t add(const Message& message);
  [[nodiscard]] Message& operator[](std::uint32_t index) { return messages_[index]; }
  [[nodiscard]] const Message& operator[](std::uint32_t index) const { return messages_[index]; }
  void remove(std::uint32_t index) { unused_.push_back(index); }

  // The message leaves its rank; comes to its next link; the link has passed what was before. An event `arrived`
  // follows from it.
  void send(std::uint32_t message, double now, EventQueue& events);
  void at_link(std::uint32_t message, double now, EventQueue& events);
  void passed(std::uint32_t link, double now, EventQueue& events);

  // The longest time that a port was occupied.
  [[nodiscard]] double busiest_port() const;

private:
  struct Link {
    double free_from = 0;
    double busy = 0;
    std::uint32_t first = none, last = none; // messages that wait
  };
  static constexpr std::uint32_t none = ~0U;
  enum Stage : std::uint8_t { stream, port_out, up, down, port_in, stages };

  [[nodiscard]] std::uint32_t link_of(const Message& message) const;
  [[nodiscard]] double time_of(const Message& message) const;
  [[nodiscard]] bool skips(const Message& message) const;
  void pass(std::uint32_t index, double now, EventQueue& events);

  const Places& places_;
  const Machine& machine_;
  std::uint32_t ports_out_, ports_in_, up_, down_; // where their links begin; ranks' streams are the first
  double per_byte_between_switches_ = 0;
  std::vector<Link> links_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> unused_;
};

} // namespace stoker::algos
