// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/calls.hpp"

#include "engine/base/agreement.hpp"
#include "engine/calls/bound_call.hpp"
#include "engine/calls/forwarded_errors.hpp"
#include "engine/calls/mpi_collective.hpp"
#include "engine/calls/shape.hpp"
#include "engine/data/arguments.hpp"
#include "engine/helper/waiting.hpp"
#include "engine/requests/choices.hpp"
#include "engine/requests/epoch_binding.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

namespace stoker::engine {
namespace {

using algos::Collective;
using Clock = std::chrono::steady_clock;

double seconds_of(Clock::time_point time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// How much of a call's time is measured; reading the clock takes as long as a tenth of a short call.
enum class Timed : std::uint8_t { no, as_a_whole, in_parts };

class Call final : public CallUnderWay, public QueuedCall {
public:
  using Standing = Calls::Standing;

  Call(Calls& all, const CollectiveCall& given, const Peers& peers, bool blocking, Timed timed)
      : QueuedCall(given, peers, blocking), all_(all), timed_(timed) {
    if (timed != Timed::no) {
      begin = Clock::now();
    }
  }

  bool done() override {
    const Exposure exposure(*this);
    return complete.load(std::memory_order_acquire) || all_.look(*this, true) == Standing::done;
  }

  void wait() override {
    const Exposure exposure(*this);
    if (prompt && lane != nullptr) { // written by this thread, when it started the call
      return all_.await(*this);
    }
    for (;;) {
      switch (complete.load(std::memory_order_acquire) ? Standing::done : all_.look(*this, false)) {
      case Standing::done:
        return;
      case Standing::on_lane:
        return all_.await(*this);
      case Standing::at_mpi:
        return all_.stay_in_mpi(*this);
      case Standing::waiting:
        all_.wait_until_moved(*this);
      }
    }
  }

  void look_around(std::uint64_t waited_ns) override { all_.look_around(*this, waited_ns); }

  void finish() override {
    const Exposure exposure(*this);
    if (shape != nullptr) {
      const double seconds = timed_ == Timed::no ? 0 : seconds_since(begin);
      if (timed_ == Timed::as_a_whole) { // the application does nothing else
        exposed_seconds = seconds;
      }
      all_.end(*this, seconds);
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
    explicit Exposure(Call& call) : call_(call.timed_ == Timed::in_parts ? &call : nullptr) {
      if (call_ != nullptr) {
        begin_ = Clock::now();
      }
    }
    Exposure(const Exposure&) = delete;
    Exposure& operator=(const Exposure&) = delete;
    ~Exposure() {
      if (call_ != nullptr) {
        call_->exposed_seconds += seconds_since(begin_);
      }
    }

  private:
    Call* call_;
    Clock::time_point begin_;
  };

private:
  Calls& all_;
  Timed timed_;
};

} // namespace

Shape* Calls::shape_of(const ShapeKey& key, const RouteTrials& trials, const std::function<void(Shape&)>& complete) {
  if (closed_) {
    throw Error(Code::request, "the communicator's calls are closed");
  }
  return shapes_.of_next_call(key, trials, complete);
}

std::unique_ptr<CallUnderWay> Calls::start(const CollectiveCall& given, MPI_Info info, Executor executor, bool blocking,
                                           bool small) {
  Peers peers{.ranks = static_cast<std::size_t>(context_->ranks()), .at_root = context_->rank() == given.root};
  if (looks_at_neighbors(given.collective, context_->comm())) {
    if (!neighbors_) {
      neighbors_ = neighbors_of(context_->comm());
    }
    peers.targets = neighbors_->targets.size();
    peers.sources = neighbors_->sources.size();
  }
  auto call = std::make_unique<Call>(*this, given, peers, blocking,
                                     !stands_in_ ? Timed::no
                                     : blocking  ? Timed::as_a_whole
                                                 : Timed::in_parts);
  // Without helpers there may be requests that this rank alone brings on, so its wait has to drive them.
  call->stays_in_mpi = blocking && stands_in_ && engine_->has_helpers();
  const Call::Exposure exposure(*call);
  const bool started = traits_of(given.collective).sizes == algos::SizesKnownTo::all
                           ? start_with_sizes(*call, info, possible(executor), blocking, small)
                           : start_block_by_block(*call, possible(executor), blocking);
  return started ? std::move(call) : nullptr;
}

bool Calls::start_with_sizes(QueuedCall& call, MPI_Info info, Executor executor, bool blocking, bool small) {
  const CollectiveCall& given = call.call;
  const Collective collective = given.collective;
  // What one rank alone can see is no reason to leave the others waiting, or to refuse what the MPI library takes.
  const Erroneous erroneous = stands_in_ ? Erroneous::taken : Erroneous::refused;
  CallBuffers buffers = checked_buffers(given, context_->rank(), context_->ranks(), nullptr, erroneous);
  Operation operation = std::move(buffers.operation);
  if (operation.cells()) {
    return false;
  }
  ShapeKey key{.collective = collective,
               .root = algos::has_root(collective) ? given.root : 0,
               .code = operation.code(),
               .user_defined = operation.user_defined(),
               .commutative = operation.commutative(),
               .element_bytes = algos::combines(collective) ? operation.element_bytes() : 1,
               .sizes = sizes_of(buffers, context_->rank(), erroneous),
               .in_place = buffers.in_place && !algos::has_root(collective),
               .blocking = blocking,
               .small = small,
               .lanes = lanes_used(collective, context_->ranks(), blocking),
               .executor = operation.user_defined() ? Executor::inline_ : executor};
  const std::optional<std::uint64_t> own = buffers.own;
  call.bytes = std::accumulate(key.sizes.begin(), key.sizes.end(), std::uint64_t{0});
  if (key.sizes.size() == 1 && algos::has_blocks(collective)) {
    call.bytes *= static_cast<std::uint64_t>(context_->ranks());
  }
  if (collective != Collective::barrier && call.bytes == 0) {
    call.complete.store(true, std::memory_order_relaxed); // on all ranks
    return true;
  }
  call.buffers = bound_buffers(given, std::move(buffers), context_->rank());
  if (own && key.sizes.size() > 1 && *own < key.sizes[static_cast<std::size_t>(context_->rank())]) {
    call.buffers.send_spacing = {.block = *own, .stride = key.sizes[static_cast<std::size_t>(context_->rank())]};
    call.buffers.copies_send = true;
  }
  if (!stands_in_) {
    call.buffers.send_spacing = call.buffers.recv_spacing = round_up(key);
    // Two copies within the node cost less than peers that reach memory of another process by the system.
    call.buffers.copies_send = call.buffers.copies_recv = true;
  }
  const Route first = small ? Route::mpi : Route::engine;
  {
    const auto lock = guard();
    const auto complete = [&](Shape& fresh) {
      RequestPlan plan;
      plan.context = context_;
      plan.operation = std::move(operation);
      choose(*engine_, collective, info, plan);
      operation = std::move(plan.operation);
      fresh.choice = plan.choice;
      fresh.chosen_by = plan.chosen_by;
      fresh.deterministic = plan.deterministic;
      if (plan.deterministic) { // the MPI library's bits are others
        fresh.trials = RouteTrials(false, first);
      }
    };
    Shape* const shape =
        shape_of(key, RouteTrials(trials_, first, engine_->helper_facts().reserved == 0), std::cref(complete));
    if (small) {
      note_small(call.call, call.bytes, executor, shape);
    }
    if (shape == nullptr) {
      return false;
    }
    if (algos::combines(collective)) {
      call.operation = std::move(operation);
    }
    enqueue(*shape, call);
  }
  look_after(call);
  return true;
}

bool Calls::start_block_by_block(QueuedCall& call, Executor executor, bool blocking) {
  const CollectiveCall& given = call.call;
  const algos::CollectiveTraits& traits = traits_of(given.collective);
  if (given.in_place() && !traits.has_root) { // it would send what it has overwritten
    return false;
  }
  const bool neighborhood = traits.pattern == algos::Pattern::neighborhood;
  call.buffers = bound_blocks(given, *context_, neighborhood ? &*neighbors_ : nullptr);
  call.bytes = call.buffers.send.bytes();
  {
    const auto lock = guard();
    ShapeKey key;
    key.collective = given.collective;
    key.blocking = blocking;
    key.lanes = lanes_used(given.collective, context_->ranks(), blocking);
    key.executor = executor;
    Shape* const shape = lease_ ? shape_of(lease_->key(), lease_->trials(), [](Shape& fresh) { fresh.ask_for_all(); })
                                : shape_of(key, RouteTrials(trials_), [](Shape&) {});
    enqueue(*shape, call);
  }
  look_after(call);
  return true;
}

// Rounds the sizes of equal blocks up.
Spacing Calls::round_up(ShapeKey& key) const {
  constexpr std::uint64_t short_bytes = 64 * 1024; // of all blocks together: rounded generously up to here
  constexpr std::uint64_t least_units = 64;
  if (key.sizes.size() != 1 || key.user_defined || key.collective == Collective::reduce_scatter ||
      key.collective == Collective::allgatherv) { // of one rank
    return {};
  }
  std::uint64_t& size = key.sizes.front();
  const std::uint64_t block = size;
  const std::uint64_t blocks = algos::has_blocks(key.collective) ? static_cast<std::uint64_t>(context_->ranks()) : 1;
  const std::uint64_t units = size / key.element_bytes;
  const std::uint64_t step = std::bit_floor(units) / (size * blocks <= short_bytes ? 1 : 8);
  size = key.element_bytes * (units <= least_units ? least_units : (units + step - 1) / step * step);
  return {.block = block, .stride = size};
}

void Calls::enqueue(Shape& shape, QueuedCall& call) {
  call.shape = &shape;
  call.number = shape.calls++;
  shape.trials.note_start(call.number, call.number - shape.ended, seconds_of(call.begin));
  waiting_.add(call);
  shape.retire_complete();
  start_waiting();
  shapes_.sweep();
  call.prompt = !waiting_.has(call);
}

void Calls::start_waiting() {
  waiting_.start([this](QueuedCall& call) { ask_for_requests(call); });
}

// Without the mutex.
void Calls::look_after(const QueuedCall& call) {
  if (threaded_ && !call.prompt) {
    PutOffStarts::of_process().add(*this);
  }
}

// Calls that have been put off go on without the application.
bool Calls::try_starts() {
  const auto lock = guard();
  shapes_.for_each([&](Shape& shape) {
    if (shape.waiting == 0) {
      return;
    }
    for (Lane& lane : shape.lanes) {
      if (lane.occupant != nullptr && !lane.awaited) {
        lane.request->bring_on();
      }
    }
    shape.retire_complete();
  });
  start_waiting();
  shapes_.sweep();
  return waiting_.empty();
}

Calls::Standing Calls::look(QueuedCall& call, bool insist) {
  const auto lock = guard();
  Shape& shape = *call.shape;
  shape.retire_complete();
  start_waiting();
  if (insist) {
    // Whatever is in the way of this call has to go on as well.
    Lane& lane = shape.lane_of(call.number);
    if (lane.occupant != nullptr && !lane.awaited && !call.by_mpi && lane.request->peek()) {
      shape.retire_complete();
      start_waiting();
    }
  }
  if (call.by_mpi && call.request != MPI_REQUEST_NULL) {
    const ErrorsAreReturned here;
    int done = 0;
    const int code = PMPI_Test(&call.request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || done != 0) {
      call.error = attempt([&] { check_mpi(code, "MPI_Test"); });
      call.exchange_seconds = seconds_since(call.begin);
      call.request = MPI_REQUEST_NULL;
      call.complete.store(true, std::memory_order_release);
    }
  }
  if (call.complete.load(std::memory_order_relaxed)) {
    return Standing::done;
  }
  if (call.by_mpi && call.stays_in_mpi) {
    return Standing::at_mpi;
  }
  return call.lane != nullptr ? Standing::on_lane : Standing::waiting;
}

void Calls::await(QueuedCall& call) {
  Lane& lane = *call.lane;
  {
    const auto lock = guard();
    if (call.complete.load(std::memory_order_relaxed)) { // since the caller looked
      return;
    }
    lane.awaited = true;
  }
  const auto lost = attempt([&] { lane.request->await(); });
  const auto lock = guard();
  lane.awaited = false;
  if (lost) {
    lose(call, *lost);
    return;
  }
  call.shape->retire(lane);
  start_waiting();
}

void Calls::stay_in_mpi(QueuedCall& call) {
  const ErrorsAreReturned here;
  call.error = attempt([&] { check_start(call_mpi(call.call, waiting_.comm()), call.call.collective); });
  call.exchange_seconds = seconds_since(call.begin);
  call.complete.store(true, std::memory_order_release);
}

void Calls::lose(QueuedCall& call, const Error& error) {
  call.lane->occupant = nullptr;
  call.lane->state = Lane::State::failed;
  call.lane->error = error;
  call.error = error;
  call.complete.store(true, std::memory_order_release);
}

void Calls::look_around(QueuedCall& call, std::uint64_t waited_ns) {
  if (call.complete.load(std::memory_order_acquire) || look(call, true) != Standing::on_lane) {
    return;
  }
  const auto lock = guard();
  if (!call.complete.load(std::memory_order_relaxed)) { // since the look
    if (const auto lost = attempt([&] { call.lane->request->look_around(waited_ns); })) {
      lose(call, *lost);
    }
  }
}

void Calls::wait_until_moved(QueuedCall& call) {
  if (!threaded_) {
    initialiser_.run_here();
  }
  engine_->wait_for_mpi([&] { return look(call, true) != Standing::waiting; });
}

void Calls::end(QueuedCall& call, double seconds) {
  const auto lock = guard();
  Shape& shape = *call.shape;
  if (lease_) {
    lease_->note_calls(shape);
  }
  ++shape.ended;
  shape.trials.note_end(seconds_of(call.begin) + seconds);
  const Lane& lane = shape.lane_of(call.number);
  if (!stands_in_ && lane.state == Lane::State::failed && lane.request == nullptr) {
    shapes_.forget_latest(); // for which no request could be made, as all ranks know
    return;
  }
  if (!call.held_up && !call.error) {
    shape.trials.add(call.number, call.by_mpi ? Route::mpi : Route::engine, seconds, seconds - call.exposed_seconds);
  }
}

} // namespace stoker::engine
