// SPDX-License-Identifier: BSD-3-Clause
// What of a placed program changes with the buffers of an epoch: how they are reached, the sizes of messages, and which
// messages are copied through memory of the rank's. Written by the rank while no epoch runs.
#pragma once

#include "engine/execute/program.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stoker::engine {

class Rebinding {
public:
  // Finds the steps that change. `any_sizes`: the program is one message to and from every rank, of any size.
  // `endpoint_is_self`: this process sends and receives for the rank.
  Rebinding(const Program& program, bool any_sizes, bool endpoint_is_self);

  [[nodiscard]] bool any_sizes() const { return any_sizes_; }
  // Whether a message to another rank of the node is longer than a channel's slot takes. By rank.
  [[nodiscard]] bool sends_long_in_node(std::span<const algos::Slice> outgoing, std::uint64_t eager_bytes) const;
  // For requests of any sizes: sets what goes to, and comes from, each rank.
  void resize(Program& program, std::span<const algos::Slice> outgoing, std::span<const algos::Slice> incoming) const;
  // How much has come from each rank, and no more than `incoming`; once the epoch is complete.
  void note_received(const Program& program, std::span<const algos::Slice> incoming,
                     std::span<std::uint64_t> bytes) const;

  // A message bounces if it goes through the process at the endpoint, and that may not address the buffer that it is
  // in. How many bytes the messages that might bounce have, and those that do with the buffers of the epoch.
  [[nodiscard]] std::uint64_t most_bounce_bytes(const Program& program) const;
  [[nodiscard]] std::uint64_t bounce_bytes(const Program& program) const;
  // `place`: offset in the rank's arena of as many bytes; 0: there is no room, and the endpoint's process takes memory of
  // its own.
  void bounce(Program& program, std::uint64_t place) const;

private:
  struct Resized {
    std::uint32_t step = 0;
    std::int32_t peer = 0;
    bool outgoing = false;
    bool in_node = false;
  };
  struct Bounced {
    std::uint32_t step = 0;
    algos::Buffer buffer = algos::Buffer::send;
  };

  bool any_sizes_;
  std::vector<Resized> resized_;
  std::vector<std::uint32_t> wire_roots_;
  std::uint32_t own_copy_ = 0;
  std::vector<Bounced> bounced_;
};

} // namespace stoker::engine
