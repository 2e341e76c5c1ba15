// SPDX-License-Identifier: BSD-3-Clause
#include "engine/execute/window_steps.hpp"

#include "engine/base/agreement.hpp"
#include "engine/execute/progress.hpp"
#include "engine/transport/window.hpp"

#include <string>
#include <utility>

namespace stoker::engine {
namespace {

constexpr int announcement_tag = 0; // several from one rank to another keep their order

std::string failure(const Task& task, const LoweredStep& step, int code) {
  const std::string what = step.op == Op::fence_window      ? "a fence"
                           : step.op == Op::announce_window ? "telling rank " + std::to_string(step.peer)
                                                            : "the put to rank " + std::to_string(step.peer);
  return "rank " + std::to_string(task.program.lowered().rank) + ": " + what + " failed: " + mpi_text(code);
}

} // namespace

void WindowSteps::post(Task& task, std::uint32_t step, const StepView& view) {
  const LoweredStep& s = *view.step;
  task.program.posted()[step] = 1;
  Pending pending{.task = &task, .step = step};
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Comm comm = task.meeting;
  switch (s.op) {
  case Op::put_window:
    if (s.announced) {
      pending.phase = Phase::awaiting_target;
      pending.error = PMPI_Irecv(nullptr, 0, MPI_BYTE, s.peer, announcement_tag, comm, &request);
      pending.out_of_step = pending.error != MPI_SUCCESS;
    } else {
      put(pending);
    }
    break;
  case Op::announce_window:
    pending.error = PMPI_Isend(nullptr, 0, MPI_BYTE, s.peer, announcement_tag, comm, &request);
    pending.out_of_step = pending.error != MPI_SUCCESS;
    break;
  default: // a fence: what was put before is flushed in poll, since Start must not wait
    pending.phase = Phase::flushing;
    pending.failed = std::make_unique<int>(0);
    break;
  }
  pending_.push_back(std::move(pending));
  requests_.push_back(request);
}

void WindowSteps::put(Pending& pending) {
  const Program& program = pending.task->program;
  const StepView view = program.step(pending.step);
  const LoweredStep& s = *view.step;
  std::byte* data = contiguous(program.buffers(), view.source);
  if (s.bounce != 0) {
    data = program.bounce(s);
    (void)gather(data, program.buffers(), view.source); // all in this process: nothing to fail
  }
  pending.error = pending.task->window->put(data, s.bytes, s.peer, s.displacement);
  pending.phase = Phase::issued;
}

void WindowSteps::forget(const Task& task) {
  for (std::size_t i = pending_.size(); i-- > 0;) {
    if (pending_[i].task == &task) {
      (void)pending_[i].failed.release(); // MPI may still write it
      drop(i);
    }
  }
}

void WindowSteps::drop(std::size_t index) {
  pending_[index] = std::move(pending_.back());
  requests_[index] = requests_.back();
  pending_.pop_back();
  requests_.pop_back();
}

bool WindowSteps::poll() {
  bool moved = false;
  for (std::size_t i = 0; i < pending_.size();) {
    Pending& pending = pending_[i];
    int done = 1;
    if (requests_[i] != MPI_REQUEST_NULL) {
      const int code = PMPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
      pending.error = pending.error == MPI_SUCCESS ? code : pending.error;
      done = code == MPI_SUCCESS ? done : 1;
    }
    if (done == 0) {
      ++i;
      continue;
    }
    moved = true;
    if (pending.phase == Phase::awaiting_target && pending.error == MPI_SUCCESS) {
      put(pending);
    } else if (pending.phase == Phase::flushing) {
      // An error here is reported at the end: the others wait for this rank to enter the barrier.
      const int flushed = pending.task->window->flush_all();
      // The same barrier tells all ranks whether the puts have succeeded, and put what they should. It depends
      // on them, so the block has their errors.
      const bool erred = pending.task->program.block().error.load(std::memory_order_relaxed) != 0;
      *pending.failed = flushed == MPI_SUCCESS && !erred ? 0 : 1;
      const int met = PMPI_Iallreduce(MPI_IN_PLACE, pending.failed.get(), 1, MPI_INT, MPI_MAX, pending.task->meeting,
                                      &requests_[i]);
      pending.phase = Phase::meeting;
      pending.error = flushed != MPI_SUCCESS ? flushed : met;
      pending.out_of_step = met != MPI_SUCCESS;
      if (met == MPI_SUCCESS) {
        ++i;
        continue;
      }
    } else if (pending.phase == Phase::meeting) {
      pending.task->window->sync();
      if (*pending.failed != 0 && pending.error == MPI_SUCCESS) {
        pending.error = MPI_ERR_OTHER; // another rank's, which says more
      }
    }
    finish(pending);
    drop(i);
  }
  return moved;
}

void WindowSteps::finish(const Pending& pending) {
  if (pending.error == MPI_SUCCESS) {
    pending.task->events.push_back({.step = pending.step});
  } else {
    pending.task->events.push_back(
        {.step = pending.step,
         .error = static_cast<int>(Code::mpi),
         .out_of_step = pending.out_of_step,
         .text = failure(*pending.task, *pending.task->program.step(pending.step).step, pending.error)});
  }
}

} // namespace stoker::engine
