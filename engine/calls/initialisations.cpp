// SPDX-License-Identifier: BSD-3-Clause
// Initialisations of the requests that calls need.
#include "engine/base/agreement.hpp"
#include "engine/calls/bound_lane.hpp"
#include "engine/calls/calls.hpp"
#include "engine/calls/mpi_collective.hpp"

#include <spdlog/logger.h>

#include <utility>

namespace stoker::engine {

class Calls::Binding final : public Initialisation {
public:
  Binding(Calls& calls, Shape& shape, std::size_t lane, Operation operation)
      : calls_(calls), shape_(shape), lane_(shape.lanes[lane]), operation_(std::move(operation)) {}
  void make() override;
  void settle() override;

private:
  Calls& calls_;
  Shape& shape_;
  Lane& lane_;
  Operation operation_;
  Bound bound_;
};

void Calls::Binding::make() {
  const std::shared_ptr<Engine>& engine = calls_.engine_;
  bound_.error = attempt([&] {
    if (!calls_.threaded_) {
      // Init waits inside MPI, where inline requests make no progress. The barrier makes sure that no rank waits for
      // them on its way here.
      wait_for_mpi(*engine, *calls_.context_, {});
    }
    RequestPlan plan;
    plan.context = calls_.context_;
    plan.executor = shape_.key.executor;
    plan.timed = calls_.stands_in_;
    plan.send_memory = calls_.send_memory_;
    plan.recv_memory = calls_.recv_memory_;
    if (!shape_.sizes_known()) {
      bound_.request = init_rebindable_exchange(engine, std::move(plan));
      return;
    }
    plan.choice = shape_.choice;
    plan.chosen_by = shape_.chosen_by;
    plan.in_place = shape_.key.in_place;
    plan.operation = std::move(operation_);
    plan.root = shape_.key.root;
    plan.deterministic = shape_.deterministic;
    bound_.request = init_rebindable(engine, shape_.key.collective, std::move(plan), shape_.key.sizes);
  });
}

void Calls::Binding::settle() {
  give(lane_, std::move(bound_), calls_.stands_in_);
  if (lane_.state == Lane::State::bound) { // what is chosen need not be chosen again
    shape_.choice = lane_.request->plan().choice;
    shape_.chosen_by = lane_.request->plan().chosen_by;
  } else if (lane_.state == Lane::State::by_mpi) {
    calls_.engine_->log().warn("rank {}: {} is left to the MPI library: {}", calls_.context_->rank(),
                               algos::name_of(shape_.key.collective), lane_.error->what());
  }
  calls_.start_waiting();
}

// Small calls get all of their requests at once, so that none has to wait for its own when the engine is tried. Mostly
// one is enough.
void Calls::ask_for_requests(QueuedCall& call) {
  Shape& shape = *call.shape;
  if (lease_) {
    lease_->ask_for_requests(call.number + 1);
    lease_->take_made(shape);
    return;
  }
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
    initialiser_.add(std::make_unique<Binding>(*this, shape, number,
                                               combines ? Operation(call.call.op, *call.call.recvtypes) : Operation()));
    if (threaded_) {
      initialiser_.run_in_background();
    }
  }
}

} // namespace stoker::engine
