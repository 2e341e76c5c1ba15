// SPDX-License-Identifier: BSD-3-Clause
// The thread of a communicator's nonblocking calls, and what it does: initialisations, and starts that were put off.
#include "engine/base/agreement.hpp"
#include "engine/calls/mpi_collective.hpp"
#include "engine/calls/nonblocking.hpp"

#include <chrono>
#include <utility>

namespace stoker::engine {
namespace {

using Clock = std::chrono::steady_clock;

// How often the thread looks at calls that have been put off, and how long it stays when there are none.
constexpr std::chrono::microseconds look_interval(500);
constexpr std::chrono::seconds stay(1);

} // namespace

void NonblockingCalls::wake_thread() {
  if (!threaded_) {
    return;
  }
  if (running_) {
    changed_.notify_one();
    return;
  }
  if (thread_.joinable()) {
    thread_.join(); // it has given the mutex back for the last time
  }
  thread_ = std::thread([this] { run(); });
  running_ = true;
}

NonblockingCalls::Bound NonblockingCalls::bind(Binding& binding) const {
  const Shape& shape = *binding.shape;
  Bound bound;
  bound.error = attempt([&] {
    if (shape.comm == MPI_COMM_NULL) {
      check_mpi(MPI_Comm_dup(context_->comm(), &bound.comm), "MPI_Comm_dup");
      MPI_Comm_set_errhandler(bound.comm, MPI_ERRORS_RETURN);
    }
    RequestPlan plan;
    plan.context = context_;
    plan.executor = shape.key.executor;
    if (!shape.sizes_known()) {
      bound.request = init_rebindable_exchange(engine_, std::move(plan));
      return;
    }
    plan.choice = shape.choice;
    plan.in_place = shape.key.in_place;
    plan.operation = std::move(binding.operation);
    plan.root = shape.key.call.root;
    plan.deterministic = shape.deterministic;
    bound.request = init_rebindable(engine_, shape.key.call.collective, std::move(plan), shape.key.call.sizes);
  });
  return bound;
}

void NonblockingCalls::settle(const Binding& binding, Bound bound) {
  Shape& shape = *binding.shape;
  Lane& lane = shape.lanes[binding.lane];
  if (bound.comm != MPI_COMM_NULL) {
    shape.comm = bound.comm;
  }
  if (!bound.error) {
    lane.state = Lane::State::bound;
    lane.request = std::move(bound.request);
    shape.choice = lane.request->plan().choice; // what is chosen need not be chosen again
    return;
  }
  // What all ranks are told alike. A shape that the engine has no means for is left to the MPI library.
  const Code code = bound.error->code();
  const bool left_to_mpi = code == Code::resource || code == Code::unsupported || code == Code::access;
  lane.state = left_to_mpi ? Lane::State::by_mpi : Lane::State::failed;
  lane.error = std::move(bound.error);
  if (left_to_mpi) {
    engine_->log().warn("rank {}: nonblocking {} is left to the MPI library: {}", context_->rank(),
                        algos::name_of(shape.key.call.collective), lane.error->what());
  }
}

// Requests are made in the order in which they were asked for, by one thread for all: two that take part in the same
// collective calls in another order than on other ranks would wait for each other for ever.
void NonblockingCalls::run() {
  std::unique_lock lock(mutex_);
  Clock::time_point busy = Clock::now();
  for (;;) {
    if (!bindings_.empty()) {
      Binding binding = std::move(bindings_.front());
      bindings_.pop_front();
      lock.unlock();
      Bound bound = bind(binding);
      lock.lock();
      settle(binding, std::move(bound));
      binding.shape->start_waiting();
      busy = Clock::now();
    } else if (help_waiting()) {
      busy = Clock::now();
      changed_.wait_for(lock, look_interval);
    } else if (closed_ || Clock::now() - busy > stay) {
      break;
    } else {
      changed_.wait_for(lock, stay);
    }
  }
  running_ = false;
}

// Calls that have been put off must not depend on the application to ask for them. It may wait for something else,
// which another rank reaches only after this one has started them. Returns whether any are left.
bool NonblockingCalls::help_waiting() {
  bool left = false;
  for (const auto& shape : shapes_) {
    if (shape->waiting.empty()) {
      continue;
    }
    for (Lane& lane : shape->lanes) {
      if (lane.occupant != nullptr && !lane.awaited) {
        (void)lane.request->peek();
      }
    }
    shape->retire_complete();
    shape->start_waiting();
    left = left || !shape->waiting.empty();
  }
  return left;
}

void NonblockingCalls::bind_here() {
  std::unique_lock lock(mutex_);
  while (!bindings_.empty()) {
    Binding binding = std::move(bindings_.front());
    bindings_.pop_front();
    lock.unlock();
    // Init waits inside MPI, where inline requests make no progress. The barrier makes sure that no rank waits for them
    // on its way here.
    wait_for_mpi(*engine_, *context_, {});
    Bound bound = bind(binding);
    lock.lock();
    settle(binding, std::move(bound));
  }
}

} // namespace stoker::engine
