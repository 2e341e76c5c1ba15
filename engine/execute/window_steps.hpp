// SPDX-License-Identifier: BSD-3-Clause
// The steps of a program that goes through a window of its own: each rank by itself, between nodes and within them alike, as
// the literature has it. Used by one thread at a time.
#pragma once

#include "engine/execute/program.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace stoker::engine {

struct Task;

class WindowSteps {
public:
  // A put that nobody announces is made at once, one that is announced when its target has said so. A fence is a barrier that
  // does not block, behind a flush of all that was put: MPI_Win_fence would have all ranks start their requests in one order.
  void post(Task& task, std::uint32_t step);

  // Hands each finished step to its task; returns whether there was any. May wait in a flush until the targets' processes are
  // inside MPI, but for requests that were just started.
  bool poll();

private:
  enum class Phase : std::uint8_t { issued, awaiting_target, flushing, meeting };
  struct Pending {
    Task* task = nullptr;
    std::uint32_t step = 0;
    Phase phase = Phase::issued;
    int error = MPI_SUCCESS;
    std::unique_ptr<int> failed = nullptr; // of a fence: whether a rank's puts did; MPI writes it
  };
  void put(Pending& pending);
  void finish(const Pending& pending);

  // Parallel arrays; the request is null where the phase needs none.
  std::vector<Pending> pending_;
  std::vector<MPI_Request> requests_;
};

} // namespace stoker::engine
