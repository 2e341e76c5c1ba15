// SPDX-License-Identifier: BSD-3-Clause
// A waiter for wait_until_done() whose end the MPI library brings about, while this rank's inline requests get on.
#pragma once

#include "engine/core/engine.hpp"

#include <cstdint>
#include <utility>

namespace stoker::engine {

// `Attempt`: bool(), which asks the MPI library; true is the end.
template <class Attempt>
class PollingWaiter {
public:
  PollingWaiter(Engine& engine, Attempt attempt) : engine_(engine), attempt_(std::move(attempt)) {}
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] bool make_progress() {
    const bool moved = engine_.inline_round();
    done_ = attempt_();
    return moved || done_;
  }
  [[nodiscard]] bool asks_mpi() const { return true; }
  [[nodiscard]] bool can_sleep() const { return false; }
  void before_sleep() const {}
  void look_around(std::uint64_t /*waited_ns*/) const {}

private:
  Engine& engine_;
  Attempt attempt_;
  bool done_ = false;
};

} // namespace stoker::engine
