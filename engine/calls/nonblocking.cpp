// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/nonblocking.hpp"

#include "engine/base/agreement.hpp"
#include "engine/calls/bound_call.hpp"
#include "engine/calls/mpi_collective.hpp"
#include "engine/calls/shape.hpp"
#include "engine/data/arguments.hpp"
#include "engine/helper/waiting.hpp"
#include "engine/requests/choices.hpp"
#include "engine/requests/epoch_binding.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stoker::engine {
namespace {

using algos::Collective;
using Clock = std::chrono::steady_clock;

class Call final : public NonblockingCall, public QueuedCall {
public:
  using Standing = NonblockingCalls::Standing;

  Call(NonblockingCalls& all, const CollectiveCall& call, const Peers& peers) : QueuedCall(call, peers), all_(all) {}

  bool done() override {
    const Exposure exposure(*this);
    return complete.load(std::memory_order_acquire) || all_.look(*this, true) == Standing::done;
  }

  void wait() override {
    const Exposure exposure(*this);
    for (;;) {
      switch (complete.load(std::memory_order_acquire) ? Standing::done : all_.look(*this, false)) {
      case Standing::done:
        return;
      case Standing::on_lane:
        return all_.await(*this);
      case Standing::waiting:
        all_.wait_until_moved(*this);
      }
    }
  }

  void finish() override {
    const Exposure exposure(*this);
    if (shape != nullptr) {
      all_.note_time(*this, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    if (error) {
      throw *error;
    }
  }

  [[nodiscard]] Report report() const override {
    return {.by_mpi = by_mpi,
            .on_trial = on_trial,
            .exchange_seconds = exchange_seconds,
            .exposed_seconds = exposed_seconds,
            .bytes = bytes,
            .algorithm = algorithm};
  }

  // Adds the time of its scope.
  class Exposure {
  public:
    explicit Exposure(Call& call) : call_(call) {}
    Exposure(const Exposure&) = delete;
    Exposure& operator=(const Exposure&) = delete;
    ~Exposure() { call_.exposed_seconds += std::chrono::duration<double>(Clock::now() - begin_).count(); }

  private:
    Call& call_;
    Clock::time_point begin_ = Clock::now();
  };

private:
  NonblockingCalls& all_;
};

} // namespace

NonblockingCalls::NonblockingCalls(std::shared_ptr<Engine> engine, MPI_Comm comm, bool trials)
    : engine_(std::move(engine)), context_(engine_->private_context(comm)), trials_(trials) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  int lowest = provided;
  check_mpi(MPI_Allreduce(&provided, &lowest, 1, MPI_INT, MPI_MIN, context_->comm()), "MPI_Allreduce");
  threaded_ = lowest >= MPI_THREAD_MULTIPLE;
}

void NonblockingCalls::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      return;
    }
    closed_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  int finalized = 0;
  MPI_Finalized(&finalized);
  for (const auto& shape : shapes_) {
    for (Lane& lane : shape->lanes) {
      lane.request.reset();
    }
    if (shape->comm != MPI_COMM_NULL && finalized == 0) {
      shape->agreement.wait(); // all ranks have asked
      MPI_Comm_free(&shape->comm);
    }
  }
  context_->free();
}

Shape& NonblockingCalls::shape_of(const ShapeKey& key, const std::function<void(Shape&)>& complete) {
  if (closed_) {
    throw Error(Code::request, "the communicator's nonblocking calls are closed");
  }
  const auto found = std::ranges::find_if(shapes_, [&](const auto& shape) { return shape->key == key; });
  if (found != shapes_.end()) {
    return **found;
  }
  const bool keyed = traits_of(key.call.collective).sizes == algos::SizesKnownTo::all;
  if (keyed && keyed_ == most_shapes) {
    throw Error(Code::unsupported, "rank " + std::to_string(context_->rank()) + ": " + std::to_string(most_shapes) +
                                       " kinds of nonblocking calls are in use on this communicator; no more are kept");
  }
  auto shape = std::make_unique<Shape>(key, trials_);
  complete(*shape);
  keyed_ += keyed ? 1 : 0;
  return *shapes_.emplace_back(std::move(shape));
}

std::unique_ptr<NonblockingCall> NonblockingCalls::start(const CollectiveCall& given, MPI_Info info,
                                                         Executor executor) {
  Peers peers{.ranks = static_cast<std::size_t>(context_->ranks()), .at_root = context_->rank() == given.root};
  if (pattern_of(given.collective) == algos::Pattern::neighborhood) {
    if (!neighbors_) {
      neighbors_ = neighbors_of(context_->comm());
    }
    peers.targets = neighbors_->targets.size();
    peers.sources = neighbors_->sources.size();
  }
  auto call = std::make_unique<Call>(*this, given, peers);
  const Call::Exposure exposure(*call);
  if (traits_of(given.collective).sizes == algos::SizesKnownTo::all) {
    start_with_sizes(*call, info, possible(executor));
  } else {
    start_block_by_block(*call, possible(executor));
  }
  return call;
}

void NonblockingCalls::start_with_sizes(QueuedCall& call, MPI_Info info, Executor executor) {
  const CollectiveCall& given = call.kept.call();
  const Collective collective = given.collective;
  CallBuffers buffers = checked_buffers(given, context_->rank(), context_->ranks());
  Operation operation = std::move(buffers.operation);
  if (operation.slots()) {
    throw Error(Code::unsupported, "op is an operation of the application on elements with gaps");
  }
  ShapeKey key{.call = {.collective = collective,
                        .root = algos::has_root(collective) ? given.root : 0,
                        .code = operation.code(),
                        .user_defined = operation.user_defined(),
                        .commutative = operation.commutative(),
                        .element_bytes = algos::combines(collective) ? operation.element_bytes() : 1,
                        .sizes = sizes_of(buffers)},
               .in_place = buffers.in_place && !algos::has_root(collective),
               .executor = operation.user_defined() ? Executor::inline_ : executor};
  const std::vector<std::uint64_t>& sizes = key.call.sizes;
  call.bytes = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  if (sizes.size() == 1 && algos::has_blocks(collective)) {
    call.bytes *= static_cast<std::uint64_t>(context_->ranks());
  }
  if (collective != Collective::barrier && call.bytes == 0) {
    call.complete.store(true, std::memory_order_relaxed); // on all ranks
    return;
  }
  call.buffers = bound_buffers(given, std::move(buffers), context_->rank());
  const std::lock_guard lock(mutex_);
  Shape& shape = shape_of(key, [&](Shape& fresh) {
    RequestPlan plan;
    plan.context = context_;
    plan.operation = std::move(operation);
    choose(*engine_, collective, info, plan);
    operation = std::move(plan.operation);
    fresh.choice = plan.choice;
    fresh.deterministic = plan.deterministic;
    if (plan.deterministic) { // the MPI library's bits are others
      fresh.trials = RouteTrials(false);
    }
  });
  Operation for_request;
  if (algos::combines(collective)) {
    if (shape.lane_of(shape.calls).state == Lane::State::fresh) {
      for_request = Operation(given.op, *given.recvtypes);
    }
    call.operation = std::move(operation);
  }
  enqueue(shape, call, std::move(for_request));
}

void NonblockingCalls::start_block_by_block(QueuedCall& call, Executor executor) {
  const CollectiveCall& given = call.kept.call();
  const algos::CollectiveTraits& traits = traits_of(given.collective);
  if (given.in_place() && !traits.has_root) {
    throw Error(Code::unsupported, std::string(traits.name) + " in place would send what it has overwritten");
  }
  const bool neighborhood = traits.pattern == algos::Pattern::neighborhood;
  call.buffers = bound_blocks(given, *context_, neighborhood ? &*neighbors_ : nullptr);
  call.bytes = call.buffers.send.bytes();
  const std::lock_guard lock(mutex_);
  ShapeKey key;
  key.call.collective = given.collective;
  key.executor = executor;
  Shape& shape = shape_of(key, [](Shape&) {});
  enqueue(shape, call, {});
}

void NonblockingCalls::enqueue(Shape& shape, QueuedCall& call, Operation operation) {
  call.shape = &shape;
  shape.trials.note_start(shape.calls > shape.ended);
  call.number = shape.calls++;
  shape.waiting.push_back(&call);
  Lane& lane = shape.lane_of(call.number);
  if (lane.state == Lane::State::fresh) {
    lane.state = Lane::State::asked_for;
    bindings_.push_back({&shape, call.number % lanes_of_a_shape, std::move(operation)});
    wake_thread();
  }
  shape.retire_complete();
  shape.start_waiting();
  call.prompt = shape.waiting.empty() || shape.waiting.back() != &call;
  if (!call.prompt) {
    wake_thread();
  }
}

NonblockingCalls::Standing NonblockingCalls::look(QueuedCall& call, bool insist) {
  const std::lock_guard lock(mutex_);
  Shape& shape = *call.shape;
  shape.retire_complete();
  shape.start_waiting();
  if (insist) {
    // Whatever is in the way of this call has to go on as well.
    Lane& lane = shape.lane_of(call.number);
    if (lane.occupant != nullptr && !lane.awaited && !call.by_mpi && lane.request->peek()) {
      shape.retire_complete();
      shape.start_waiting();
    }
  }
  if (call.by_mpi && call.request != MPI_REQUEST_NULL) {
    int done = 0;
    const int code = MPI_Test(&call.request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || done != 0) {
      call.error = attempt([&] { check_mpi(code, "MPI_Test"); });
      call.exchange_seconds = std::chrono::duration<double>(Clock::now() - call.begin).count();
      call.request = MPI_REQUEST_NULL;
      call.complete.store(true, std::memory_order_release);
    }
  }
  if (call.complete.load(std::memory_order_relaxed)) {
    return Standing::done;
  }
  return call.lane != nullptr ? Standing::on_lane : Standing::waiting;
}

void NonblockingCalls::await(QueuedCall& call) {
  Lane& lane = *call.lane;
  {
    const std::lock_guard lock(mutex_);
    if (call.complete.load(std::memory_order_relaxed)) { // since the caller looked
      return;
    }
    lane.awaited = true;
  }
  const auto lost = attempt([&] { lane.request->await(); });
  const std::lock_guard lock(mutex_);
  lane.awaited = false;
  if (lost) {
    lane.occupant = nullptr;
    lane.state = Lane::State::failed;
    lane.error = lost;
    call.error = lost;
    call.complete.store(true, std::memory_order_release);
    return;
  }
  call.shape->retire(lane);
  call.shape->start_waiting();
}

void NonblockingCalls::wait_until_moved(QueuedCall& call) {
  if (!threaded_) {
    bind_here();
  }
  constexpr int at_once = 50; // a short call of MPI's is over before whoever wants this core could have used it
  for (int i = 0; i < at_once; ++i) {
    if (look(call, false) != Standing::waiting) {
      return;
    }
  }
  engine_->wait_for_mpi([&] { return look(call, true) != Standing::waiting; });
}

void NonblockingCalls::note_time(const QueuedCall& call, double seconds) {
  const std::lock_guard lock(mutex_);
  ++call.shape->ended;
  if (call.prompt && !call.error) {
    call.shape->trials.add(call.number, call.by_mpi ? Route::mpi : Route::engine, seconds,
                           seconds - call.exposed_seconds);
  }
}

} // namespace stoker::engine
