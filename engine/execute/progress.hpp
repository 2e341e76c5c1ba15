// SPDX-License-Identifier: BSD-3-Clause
// The list of programs that one executor drives, and one round over it. The helper has one for its domain, every rank
// has one for its inline requests. Used by one thread at a time; the programs themselves are shared through their
// ownership.
#pragma once

#include "engine/base/one_thread.hpp"
#include "engine/execute/executor.hpp"
#include "engine/execute/window_steps.hpp"
#include "engine/execute/wire.hpp"

#include <cstdint>
#include <vector>

namespace stoker::engine {

class Window;

// A program of this process and what its executor notes about it.
struct Task {
  Task(SharedRef block, const NodeMemory& memory, const Operation* operation = nullptr)
      : program(block, memory, operation) {}
  // Whether somebody holds a pointer to it.
  [[nodiscard]] bool in_use() const { return listed || in_flight > 0; }
  Program program;
  Window* window = nullptr;         // for its puts
  MPI_Comm meeting = MPI_COMM_NULL; // inline, with a window: for fences and announcements
  std::uint64_t latest = 0;         // newest epoch adopted
  std::uint64_t bound = 0;          // where buffers change: the epoch whose buffers the program has
  bool listed = false;
  bool damaged = false;          // the rank's shared memory is: nobody goes on with it
  std::uint32_t in_flight = 0;   // posted steps whose events have not come
  std::vector<WireEvent> events; // that its program has not been told of yet
};

class Progress {
public:
  Progress(const Network& network, ExecutorId id) : wire_(network), id_(id) {}

  // From now on `task` is driven until `epoch` is complete. The task must outlive that, or be forgotten.
  void adopt(Task& task, std::uint64_t epoch, std::uint64_t now_ns);

  // The task's epoch will not be completed: it is driven no further, and what its messages bring is ignored. It may be
  // destroyed afterwards.
  void forget(const Task& task);

  // One round: MPI, then every program once. Returns whether anything moved.
  bool poll();

  [[nodiscard]] bool active() const { return !tasks_.empty(); }
  [[nodiscard]] std::uint64_t youngest_ns() const { return youngest_ns_; } // when the newest epoch was adopted

private:
  struct Outcome {
    bool moved = false;
    bool done = false;
  };
  Outcome run(Task& task);
  bool post(Task& task); // the steps on its wire list; returns whether there were any

  OneThread one_thread_{"Progress"};
  Wire wire_;
  WindowSteps window_steps_;
  ExecutorId id_;
  std::vector<Task*> tasks_;
  std::uint64_t youngest_ns_ = 0;
};

} // namespace stoker::engine
