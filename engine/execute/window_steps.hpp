// SPDX-License-Identifier: BSD-3-Clause
// The steps of a program whose puts go through a window of its own. Each rank makes its own puts, between nodes and
// within them alike, as in the literature. Used by one thread at a time.
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
  // A put without announcement is made at once, one with an announcement when its target has sent that. A fence is a
  // barrier that does not block, after a flush of all puts: MPI_Win_fence would have all ranks start their requests in
  // one order.
  void post(Task& task, std::uint32_t step, const StepView& view);

  // Drops the task's steps. What MPI has of them is never asked for again.
  void forget(const Task& task);

  // Hands each finished step to its task; returns whether there was any. May wait in a flush until the targets'
  // processes are inside MPI, but for requests that were just started.
  bool poll();

private:
  enum class Phase : std::uint8_t { issued, awaiting_target, flushing, meeting };
  struct Pending {
    Task* task = nullptr;
    std::uint32_t step = 0;
    Phase phase = Phase::issued;
    int error = MPI_SUCCESS;
    bool out_of_step = false;              // a message, or the barrier, may be taken for that of another epoch
    std::unique_ptr<int> failed = nullptr; // of a fence: whether a rank's puts did; MPI writes it
  };
  void put(Pending& pending);
  void finish(const Pending& pending);
  void drop(std::size_t index);

  // Parallel arrays; the request is null where the phase needs none.
  std::vector<Pending> pending_;
  std::vector<MPI_Request> requests_;
};

} // namespace stoker::engine
