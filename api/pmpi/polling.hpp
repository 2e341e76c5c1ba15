// SPDX-License-Identifier: BSD-3-Clause
// Waiting for what the MPI library brings about, while this rank's inline requests get on if it takes longer.
#pragma once

#include "api/pmpi/state.hpp"
#include "engine/waiting.hpp"

#include <thread>
#include <utility>

namespace stoker::pmpi {

// `Attempt`: bool(), which asks the MPI library.
template <class Attempt>
class PollingWaiter {
public:
  explicit PollingWaiter(Attempt attempt) : attempt_(std::move(attempt)) {}
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] bool make_progress() {
    const bool moved = the_engine()->inline_round();
    done_ = attempt_();
    return moved || done_;
  }
  [[nodiscard]] bool asks_mpi() const { return true; }
  [[nodiscard]] bool can_sleep() const { return false; }
  void before_sleep() const {}
  void look_around(std::uint64_t /*waited_ns*/) const {}

private:
  Attempt attempt_;
  bool done_ = false;
};

// Until attempt() is true.
template <class Attempt>
void poll_until(Attempt&& attempt) {
  constexpr int at_once = 100; // a short call is over before whoever wants this core could have used it
  for (int i = 0; i < at_once; ++i) {
    if (attempt()) {
      return;
    }
  }
  if (the_engine() != nullptr) {
    engine::wait_until_done(*the_engine(), PollingWaiter(std::forward<Attempt>(attempt)));
    return;
  }
  while (!attempt()) {
    std::this_thread::yield();
  }
}

} // namespace stoker::pmpi
