// SPDX-License-Identifier: BSD-3-Clause
// Initialisations of the requests that calls need.
#include "engine/base/agreement.hpp"
#include "engine/base/spare_thread.hpp"
#include "engine/calls/calls.hpp"
#include "engine/calls/mpi_collective.hpp"

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace stoker::engine {
namespace {

// A copy that is never freed, one of each text: reports name algorithms when shapes are gone.
std::string_view kept_text(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string>& texts = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return *texts.insert(text).first;
}

} // namespace

Calls::Bound Calls::bind(Binding& binding) const {
  const Shape& shape = *binding.shape;
  Bound bound;
  bound.error = attempt([&] {
    if (!threaded_) {
      // Init waits inside MPI, where inline requests make no progress. The barrier makes sure that no rank waits for
      // them on its way here.
      wait_for_mpi(*engine_, *context_, {});
    }
    RequestPlan plan;
    plan.context = context_;
    plan.executor = shape.key.executor;
    plan.timed = stands_in_;
    plan.send_memory = send_memory_;
    plan.recv_memory = recv_memory_;
    if (!shape.sizes_known()) {
      bound.request = init_rebindable_exchange(engine_, std::move(plan));
      return;
    }
    plan.choice = shape.choice;
    plan.chosen_by = shape.chosen_by;
    plan.in_place = shape.key.in_place;
    plan.operation = std::move(binding.operation);
    plan.root = shape.key.root;
    plan.deterministic = shape.deterministic;
    bound.request = init_rebindable(engine_, shape.key.collective, std::move(plan), shape.key.sizes);
  });
  return bound;
}

void Calls::settle(const Binding& binding, Bound bound) {
  Shape& shape = *binding.shape;
  Lane& lane = shape.lanes[binding.lane];
  if (!bound.error) {
    lane.state = Lane::State::bound;
    lane.request = std::move(bound.request);
    lane.algorithm = kept_text(lane.request->plan().choice_text);
    shape.choice = lane.request->plan().choice; // what is chosen need not be chosen again
    shape.chosen_by = lane.request->plan().chosen_by;
    return;
  }
  // What all ranks are told alike. A shape that the engine has no means for is left to the MPI library.
  const Code code = bound.error->code();
  const bool left_to_mpi =
      code == Code::resource ||
      (stands_in_ && (code == Code::unsupported || code == Code::access || code == Code::mismatch));
  lane.state = left_to_mpi ? Lane::State::by_mpi : Lane::State::failed;
  lane.error = std::move(bound.error);
  if (left_to_mpi) {
    engine_->log().warn("rank {}: {} is left to the MPI library: {}", context_->rank(),
                        algos::name_of(shape.key.collective), lane.error->what());
  }
}

// The thread finds the binding once this one gives the mutex back. Where it cannot be had the spare thread makes all
// that there are. One for all communicators, it could wait on two ranks for two different ones; but only if both lack
// threads at that moment.
void Calls::have_bound() {
  if (attempt([this] { thread_.wake(); })) {
    spare_ = true;
    SpareThread::of_process().run([this] { bind_here(); });
  }
}

// Small calls get all of their requests at once, so that none has to wait for its own when the engine is tried. Mostly
// one is enough.
void Calls::ask_for_requests(QueuedCall& call) {
  Shape& shape = *call.shape;
  if (shape.key.small && shape.lanes.front().state == Lane::State::fresh && !shape.trials.several()) {
    shape.lane_count = 1;
  }
  for (std::size_t number = 0; number < shape.lane_count; ++number) {
    Lane& lane = shape.lanes[number];
    if (lane.state != Lane::State::fresh || (!shape.key.small && number != shape.lane_number(call.number))) {
      continue;
    }
    lane.state = Lane::State::asked_for;
    const bool combines = algos::combines(shape.key.collective);
    bindings_.push_back({&shape, number, combines ? Operation(call.call.op, *call.call.recvtypes) : Operation()});
    if (threaded_) {
      have_bound();
    }
  }
}

// Requests are made in the order in which they were asked for, one at a time: two that take part in the same collective
// calls in another order than on other ranks would wait for each other for ever.
OnDemandThread::Next Calls::bind_next(std::unique_lock<std::mutex>& lock) {
  if (bindings_.empty()) {
    return OnDemandThread::Next::when_woken;
  }
  if (std::exchange(binding_, true)) {
    return OnDemandThread::Next::soon;
  }
  Binding binding = std::move(bindings_.front());
  bindings_.pop_front();
  lock.unlock();
  Bound bound = bind(binding);
  lock.lock();
  binding_ = false;
  settle(binding, std::move(bound));
  start_waiting();
  return OnDemandThread::Next::at_once;
}

void Calls::bind_here() {
  for (std::unique_lock lock(mutex_); bind_next(lock) == OnDemandThread::Next::at_once;) {
  }
}

} // namespace stoker::engine
