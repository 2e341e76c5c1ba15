// SPDX-License-Identifier: BSD-3-Clause
// Waits for the MPI library, and makes progress for this rank's inline requests if that takes longer.
#pragma once

#include "api/pmpi/state.hpp"
#include "engine/core/engine.hpp"

#include <thread>

namespace stoker::pmpi {

// `Attempt`: bool(), which asks the MPI library. Until attempt() is true.
template <class Attempt>
void poll_until(Attempt&& attempt) {
  constexpr int at_once = 100; // a short call is over before whoever wants this core could have used it
  for (int i = 0; i < at_once; ++i) {
    if (attempt()) {
      return;
    }
  }
  if (the_engine() != nullptr) {
    the_engine()->wait_for_mpi(attempt);
    return;
  }
  while (!attempt()) {
    std::this_thread::yield();
  }
}

} // namespace stoker::pmpi
