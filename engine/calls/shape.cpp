// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/shape.hpp"

#include "engine/base/agreement.hpp"
#include "engine/calls/mpi_collective.hpp"

#include <algorithm>
#include <bitset>

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
  call.exchange_seconds = request.statistics().exchange_seconds - so_far;
  call.complete.store(true, std::memory_order_release);
}

// The MPI library's own calls, the decisions among them, are started in their order, as MPI demands; the engine's as
// soon as their lanes are free.
void Shape::start_waiting() {
  bool mpi_in_turn = *comm != MPI_COMM_NULL && (before == nullptr || !before->has_its_turn());
  std::bitset<lanes_of_a_shape> taken;
  for (auto next = waiting.begin(); next != waiting.end();) {
    QueuedCall& call = **next;
    if (!call.route) {
      call.route = agreement.route_of(call.number, trials, mpi_in_turn ? *comm : MPI_COMM_NULL);
      if (!call.route) {
        return;
      }
      call.on_trial = trials.on_trial();
    }
    Lane& lane = lane_of(call.number);
    const std::size_t index = lane_number(call.number);
    const Route route = *call.route;
    if (route == Route::engine && (lane.state == Lane::State::fresh || lane.state == Lane::State::asked_for)) {
      mpi_in_turn = false; // it may become one of MPI's
      taken.set(index);
      ++next;
      continue;
    }
    if (route == Route::mpi || lane.state == Lane::State::by_mpi) {
      if (!mpi_in_turn) {
        ++next;
        continue;
      }
      start_by_mpi(call);
    } else if (lane.occupant != nullptr || taken.test(index)) {
      taken.set(index);
      ++next;
      continue;
    } else {
      start_on(lane, call);
    }
    next = waiting.erase(next);
  }
}

bool Shape::over() {
  return ended == calls && before == nullptr &&
         std::ranges::none_of(lanes, [](const Lane& lane) { return lane.state == Lane::State::asked_for; }) &&
         (!agreement.asked() || agreement.answer());
}

void Shape::start_by_mpi(QueuedCall& call) const {
  call.by_mpi = true;
  call.algorithm = "mpi";
  call.error = attempt([&] { check_start(start_mpi(call.call, *comm, &call.request, call.arrays), key.collective); });
  if (call.error) {
    call.complete.store(true, std::memory_order_release);
  }
}

void Shape::start_on(Lane& lane, QueuedCall& call) {
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

} // namespace stoker::engine
