// SPDX-License-Identifier: BSD-3-Clause
// The two ends of an exchange at one rank: its blocks as parts of a program. In place, a block to send lies where the
// one from the same peer will arrive; it is set aside in scratch, and that arrival waits for it.
#pragma once

#include "algos/collectives/group_exchange.hpp"

namespace stoker::algos {

class Ends {
public:
  // When blocks are set aside: each when it is first asked for, so that the first message need not wait for all of
  // them; or all at construction, one behind the other, so that those of consecutive ranks can travel as one piece.
  enum class SetAside : std::uint8_t { each, together };
  Ends(Builder& builder, const Exchange& exchange, SetAside how);

  // This rank's block for `peer`, and the place of the block from there. No slice when the block is empty.
  [[nodiscard]] Part outgoing(int peer);
  [[nodiscard]] Part incoming(int peer);
  // The same, appended to a part.
  void add_outgoing(int peer, Part& part);
  void add_incoming(int peer, Part& part);
  // The exchange of blocks between this rank and the other `members`, which hold this rank too. Lives as long as this
  // does.
  [[nodiscard]] GroupExchange among(std::span<const int> members);
  // Appends the copy of the block that this rank has for itself. Nothing to do in place.
  void copy_own();

private:
  [[nodiscard]] const Part& aside(int peer);

  Builder& builder_;
  const Exchange& exchange_;
  SetAside how_;
  std::vector<Part> aside_; // in place only, by rank; filled on first use
};

} // namespace stoker::algos
