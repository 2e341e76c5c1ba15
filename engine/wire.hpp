// SPDX-License-Identifier: BSD-3-Clause
// Traffic between nodes: MPI two-sided messages on the engine's own communicator, polled in bulk. Used by one thread at a
// time.
#pragma once

#include "engine/program.hpp"

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stoker::engine {

struct Task;

class Wire {
public:
  explicit Wire(MPI_Comm network) : network_(network) {}

  // Posts the step's message. An error of MPI's is delivered like a completion.
  void post(Task& task, std::uint32_t step);

  // Asks MPI once for everything in flight and hands each finished step to its task. Returns whether there was any.
  bool poll();

  [[nodiscard]] bool in_flight() const { return !requests_.empty(); }

private:
  struct Ticket {
    Task* task;
    std::uint32_t step;
  };
  MPI_Comm network_;
  std::vector<MPI_Request> requests_;
  std::vector<Ticket> tickets_; // parallel to requests_
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

} // namespace stoker::engine
