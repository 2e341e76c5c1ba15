// SPDX-License-Identifier: BSD-3-Clause
// The steps of programs that lead to other nodes, as messages between endpoints. Used by one thread at a time.
#pragma once

#include "engine/execute/program.hpp"
#include "engine/transport/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace stoker::engine {

struct Task;

class Wire {
public:
  explicit Wire(const Network& network) : messages_(network) {}

  // Posts the step's message. An error of the transport is delivered like a completion.
  void post(Task& task, std::uint32_t step, const StepView& view);

  // Finished steps of the task are handed to nobody from now on.
  void forget(const Task& task);

  // Asks once for everything in flight and hands each finished step to its task. Returns whether there was any.
  bool poll();

private:
  struct Sent {           // or received
    Task* task = nullptr; // null: forgotten
    std::uint32_t step = 0;
    std::int32_t peer = -1;
    bool outgoing = false;
    int failure = 0;                     // errno: the data to send could not be read
    std::unique_ptr<std::byte[]> data{}; // of a message that MPI cannot send or receive in place, and has no bounce
  };
  Messages messages_;
  std::vector<Sent> steps_; // by the number of their message
};

} // namespace stoker::engine
