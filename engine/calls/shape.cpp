// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/shape.hpp"

#include "engine/base/agreement.hpp"
#include "engine/calls/forwarded_errors.hpp"
#include "engine/calls/mpi_collective.hpp"

#include <algorithm>

namespace stoker::engine {

void Shape::retire_complete() {
  for (Lane& lane : lanes) {
    if (lane.occupant != nullptr && !lane.awaited && lane.request->complete()) {
      lane.request->await(); // only says how it was waited for: not at all
      retire(lane);
    }
  }
}

// Its request is complete, and told how it was waited for.
void Shape::retire(Lane& lane) {
  QueuedCall& call = *std::exchange(lane.occupant, nullptr);
  Request& request = *lane.request;
  const double so_far = request.statistics().exchange_seconds;
  call.error = attempt([&] { request.finish(); });
  if (call.error && request.broken()) {
    lane.state = Lane::State::failed;
    lane.error = call.error;
  }
  call.exchange_seconds = request.statistics().exchange_seconds - so_far;
  call.complete.store(true, std::memory_order_release);
}

bool Shape::over() {
  return ended == calls &&
         std::ranges::none_of(lanes, [](const Lane& lane) { return lane.state == Lane::State::asked_for; }) &&
         (!agreement.asked() || agreement.answer());
}

namespace {

void start_by_mpi(QueuedCall& call, MPI_Comm comm) {
  call.by_mpi = true;
  call.algorithm = "mpi";
  if (call.stays_in_mpi) {
    return;
  }
  const ErrorsAreReturned here;
  const auto start = [&] { return start_mpi(call.call, comm, &call.request, call.arrays); };
  call.error = attempt([&] { check_start(start(), call.call.collective); });
  if (call.error) {
    call.complete.store(true, std::memory_order_release);
  }
}

void start_on(Lane& lane, QueuedCall& call) {
  if (lane.state != Lane::State::failed) {
    Request& request = *lane.request;
    call.algorithm = lane.algorithm;
    lane.error = attempt([&] {
      if (call.operation.user_defined()) {
        request.use(std::move(call.operation));
      }
      request.start(std::move(call.buffers));
    });
    // The other ranks go on without this one: no later call on this lane can be right.
    lane.state = lane.error ? Lane::State::failed : lane.state;
  }
  if (lane.state == Lane::State::failed) {
    call.error = lane.error;
    call.complete.store(true, std::memory_order_release);
    return;
  }
  lane.occupant = &call;
  call.lane = &lane;
}

} // namespace

// The MPI library's own calls, the decisions among them, are started in their order, as MPI demands; the engine's as
// soon as their lanes are free.
void WaitingCalls::start(const std::function<void(QueuedCall&)>& ask_for_requests) {
  for (QueuedCall* const call : calls_) {
    call->shape->held.reset();
  }
  InTurn in_turn;
  for (auto next = calls_.begin(); next != calls_.end();) {
    if (try_start(**next, in_turn, ask_for_requests)) {
      --(*next)->shape->waiting;
      next = calls_.erase(next);
    } else {
      ++next;
    }
  }
}

bool WaitingCalls::try_start(QueuedCall& call, InTurn& in_turn,
                             const std::function<void(QueuedCall&)>& ask_for_requests) const {
  Shape& shape = *call.shape;
  if (!call.route && !shape.held.all()) {
    call.route = shape.agreement.route_of(call.number, shape.trials, in_turn.mpi ? comm_ : MPI_COMM_NULL);
    call.on_trial = shape.trials.on_trial();
  }
  in_turn.requests = in_turn.requests && (call.route || shape.trials.needs_request());
  if (in_turn.requests && shape.trials.needs_request()) {
    ask_for_requests(call);
  }
  if (!call.route) { // nor has a later call of the shape
    shape.held.set();
    in_turn.mpi = false;
    call.held_up = true;
    return false;
  }
  Lane& lane = shape.lane_of(call.number);
  const std::size_t index = shape.lane_number(call.number);
  if (call.route == Route::engine && (lane.state == Lane::State::fresh || lane.state == Lane::State::asked_for)) {
    in_turn.mpi = false; // it may become one of MPI's
    shape.held.set(index);
    call.held_up = true;
    return false;
  }
  if (call.route == Route::mpi || lane.state == Lane::State::by_mpi) {
    if (in_turn.mpi) {
      start_by_mpi(call, comm_);
    }
    call.held_up = call.held_up || !in_turn.mpi;
    return in_turn.mpi;
  }
  if (lane.occupant != nullptr || shape.held.test(index)) {
    shape.held.set(index);
    return false;
  }
  start_on(lane, call);
  return true;
}

} // namespace stoker::engine
