// SPDX-License-Identifier: BSD-3-Clause
// One kind of work that a helper does in its rounds. A helper knows nothing else of its pollers.
#pragma once

#include "engine/shared/ring.hpp"

#include <cstdint>

namespace stoker::engine {

// The facts about a poller that a helper needs between two rounds.
struct PollerState {
  bool active = false;           // there is something to look for
  bool urgent = false;           // something would wait if nobody looked for the length of a nap
  bool serving = false;          // other nodes may ask for something at any time
  std::uint64_t youngest_ns = 0; // when something was last adopted or, where others ask for it, moved
};

// Called by one thread at a time.
class Poller {
public:
  Poller() = default;
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  virtual ~Poller() = default;

  // Takes over what the rank of that arena has submitted.
  virtual void adopt(std::uint32_t arena, const Submission& submission, std::uint64_t now_ns) = 0;
  // One round, of bounded length. Returns whether anything moved.
  virtual bool poll() = 0;
  [[nodiscard]] virtual PollerState state() const = 0;
};

} // namespace stoker::engine
