// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/nonblocking.hpp"

#include "engine/base/agreement.hpp"
#include "engine/calls/blocking_calls.hpp"
#include "engine/calls/mpi_collective.hpp"
#include "engine/calls/route_agreement.hpp"
#include "engine/calls/route_trials.hpp"
#include "engine/data/arguments.hpp"
#include "engine/helper/waiting.hpp"
#include "engine/requests/rebindable.hpp"
#include "engine/requests/vector_request.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

namespace stoker::engine {
namespace {

using algos::Collective;
using Clock = std::chrono::steady_clock;
constexpr std::size_t lane_count = NonblockingCalls::lanes;

// How often the thread looks at calls that have been put off, and how long it stays when there are none.
constexpr std::chrono::microseconds look_interval(500);
constexpr std::chrono::seconds stay(1);

// Equal on all ranks.
struct ShapeKey {
  std::string kind; // of an exchange; else empty
  BlockingKey call;
  bool in_place = false; // on all ranks
  Executor executor = Executor::inline_;
  bool operator==(const ShapeKey&) const = default;
};

class Call;

// One of a shape's requests.
struct Lane {
  enum class State : std::uint8_t { fresh, asked_for, bound, by_mpi, failed };
  State state = State::fresh;
  std::unique_ptr<RebindableRequest> request;
  std::optional<Error> error; // of failed
  Call* occupant = nullptr;   // the call that uses it
  bool awaited = false;       // by the occupant's thread, without the mutex: nobody else touches the request
};

struct Shape {
  Shape(ShapeKey shape_key, bool trials_on) : key(std::move(shape_key)), trials(trials_on) {}

  [[nodiscard]] Lane& lane_of(std::uint64_t call) { return lanes[call % lane_count]; }

  ShapeKey key;
  Terms terms;
  algos::Choice choice; // once the first request is made
  std::uint64_t calls = 0;
  std::uint64_t ended = 0;   // of them
  std::deque<Call*> waiting; // not started yet, in their order
  std::array<Lane, lane_count> lanes;
  MPI_Comm comm = MPI_COMM_NULL; // for MPI's own calls, from the time of the first request on
  RouteTrials trials;
  RouteAgreement agreement; // on the decision that is being made
};

// A request to be made.
struct Binding {
  Shape* shape = nullptr;
  std::size_t lane = 0;
  Operation operation;
};

} // namespace

class NonblockingCalls::Impl : public std::enable_shared_from_this<Impl> {
public:
  Impl(std::shared_ptr<Engine> engine, MPI_Comm comm, bool trials);
  ~Impl() { close(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  void close();
  [[nodiscard]] bool starts_locally() const { return threaded_; }

  [[nodiscard]] std::unique_ptr<NonblockingCall> start(Collective collective, const VectorArguments& arguments,
                                                       Executor executor, MpiStart mpi);
  [[nodiscard]] std::unique_ptr<NonblockingCall> exchange(std::string_view kind, std::span<const PeerBlock> sends,
                                                          std::span<const PeerBlock> recvs, Executor executor,
                                                          MpiStart mpi);

  // What calls do, each for itself.
  enum class Standing : std::uint8_t { waiting, on_lane, done };
  // One attempt. `insist`: also with what a request does only for somebody who wants it to go on without waiting for it.
  [[nodiscard]] Standing look(Call& call, bool insist);
  void await(Call& call);            // on its lane: returns when it is done
  void wait_until_moved(Call& call); // it is done, or on its lane
  void note_time(const Call& call, double seconds);

private:
  Shape& shape_of(const ShapeKey& key, const std::function<void(Shape&)>& complete);
  void enqueue(Shape& shape, Call& call, Operation operation); // which is for its lane's request
  [[nodiscard]] Executor possible(Executor executor) const {
    return engine_->has_helpers() ? executor : Executor::inline_;
  }

  // All with the mutex.
  void retire_complete(Shape& shape);
  void retire(Lane& lane);
  void start_waiting(Shape& shape);
  [[nodiscard]] static bool decided(Shape& shape);
  void start_by_mpi(Call& call, MPI_Comm comm);
  void start_on(Lane& lane, Call& call);
  void wake_thread();
  [[nodiscard]] bool help_waiting();

  struct Bound {
    std::unique_ptr<RebindableRequest> request;
    MPI_Comm comm = MPI_COMM_NULL; // where the shape had none
    std::optional<Error> error;
  };
  [[nodiscard]] Bound bind(Binding& binding) const; // collective; without the mutex
  void settle(const Binding& binding, Bound bound);
  void run();
  void bind_here(); // collective, where there is no thread

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<CommContext> context_; // for whoever makes requests
  bool trials_;
  bool threaded_ = false;

  std::mutex mutex_; // guards what follows, and calls until they are done
  std::vector<std::unique_ptr<Shape>> shapes_;
  std::size_t keyed_ = 0;        // shapes that are no exchanges
  std::deque<Binding> bindings_; // in the same order on all ranks
  std::condition_variable changed_;
  bool running_ = false;
  bool closed_ = false;
  std::thread thread_;
};

namespace {

class Call final : public NonblockingCall {
public:
  using Impl = NonblockingCalls::Impl;
  using Standing = Impl::Standing;

  Call(std::shared_ptr<Impl> impl, MpiStart start) : mpi(std::move(start)), impl_(std::move(impl)) {}

  bool done() override {
    const Exposure exposure(*this);
    return complete.load(std::memory_order_acquire) || impl_->look(*this, true) == Standing::done;
  }

  void wait() override {
    const Exposure exposure(*this);
    for (;;) {
      switch (complete.load(std::memory_order_acquire) ? Standing::done : impl_->look(*this, false)) {
      case Standing::done:
        return;
      case Standing::on_lane:
        return impl_->await(*this);
      case Standing::waiting:
        impl_->wait_until_moved(*this);
      }
    }
  }

  void finish() override {
    const Exposure exposure(*this);
    if (shape != nullptr) {
      impl_->note_time(*this, std::chrono::duration<double>(Clock::now() - begin).count());
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

  // Guarded by the mutex of what it is a call of, until it is complete.
  Shape* shape = nullptr; // null: there is nothing to do
  std::uint64_t number = 0;
  std::optional<Route> route;         // once all that is decided before it is
  RebindableRequest::Buffers buffers; // until it is on a lane
  Operation operation;                // likewise
  MpiStart mpi;
  Lane* lane = nullptr;                   // that it is on
  MPI_Request request = MPI_REQUEST_NULL; // of MPI's own
  std::optional<Error> error;
  bool by_mpi = false;
  bool on_trial = false;
  bool prompt = false; // started at once
  std::string_view algorithm = "none";
  double exchange_seconds = 0;
  double exposed_seconds = 0; // its own thread's
  Clock::time_point begin = Clock::now();
  std::atomic<bool> complete{false}; // released by whoever completes it, acquired by its thread

private:
  std::shared_ptr<Impl> impl_;
};

// What the programs of rooted collectives take for send and recv at a root that is in place; others' buffers are theirs.
RebindableRequest::Buffers bound_buffers(Collective collective, VectorBuffers& buffers,
                                         const VectorArguments& arguments, int rank) {
  RebindableRequest::Buffers bound;
  const bool in_place_at_root = buffers.in_place && algos::has_root(collective);
  if (in_place_at_root && collective == Collective::reduce) {
    bound.send = BoundData(UserBuffer(buffers.recv.address(), Datatype(MPI_BYTE, "datatype"), buffers.recv.blocks()));
    bound.set_aside = true;
  } else if (in_place_at_root && collective == Collective::gather) {
    bound.send = BoundData(UserBuffer(buffers.recv.address(), Datatype(arguments.recvtype, "recvtype"),
                                      {buffers.recv.blocks()[static_cast<std::size_t>(rank)]}));
    bound.set_aside = true;
  } else {
    bound.send = BoundData(std::move(buffers.send));
  }
  bound.recv = BoundData(std::move(buffers.recv));
  bound.in_place = buffers.in_place && !in_place_at_root;
  return bound;
}

// alltoall's arguments in the same form.
VectorBuffers checked_alltoall(const VectorArguments& arguments, std::size_t ranks) {
  VectorBuffers buffers;
  buffers.in_place = arguments.sendbuf == MPI_IN_PLACE;
  buffers.recv = checked_equal_blocks({arguments.recvbuf, ranks, arguments.recvcounts, nullptr, arguments.recvtype,
                                       "recvbuf", "recvcount", "", "recvtype"});
  buffers.sizes = {buffers.recv.block_bytes(0)};
  if (!buffers.in_place) {
    buffers.send = checked_equal_blocks({arguments.sendbuf, ranks, arguments.sendcounts, nullptr, arguments.sendtype,
                                         "sendbuf", "sendcount", "", "sendtype"});
    check_buffers_apart(buffers.send, buffers.recv);
    buffers.own = buffers.send.block_bytes(0);
  }
  return buffers;
}

} // namespace

NonblockingCalls::Impl::Impl(std::shared_ptr<Engine> engine, MPI_Comm comm, bool trials)
    : engine_(std::move(engine)), context_(engine_->private_context(comm)), trials_(trials) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  int lowest = provided;
  check_mpi(MPI_Allreduce(&provided, &lowest, 1, MPI_INT, MPI_MIN, context_->comm()), "MPI_Allreduce");
  threaded_ = lowest >= MPI_THREAD_MULTIPLE;
}

void NonblockingCalls::Impl::close() {
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

Shape& NonblockingCalls::Impl::shape_of(const ShapeKey& key, const std::function<void(Shape&)>& complete) {
  if (closed_) {
    throw Error(Code::request, "the communicator's nonblocking calls are closed");
  }
  const auto found = std::ranges::find_if(shapes_, [&](const auto& shape) { return shape->key == key; });
  if (found != shapes_.end()) {
    return **found;
  }
  const bool keyed = key.kind.empty();
  if (keyed && keyed_ == most_shapes) {
    throw Error(Code::unsupported, "rank " + std::to_string(context_->rank()) + ": " + std::to_string(most_shapes) +
                                       " kinds of nonblocking calls are in use on this communicator; no more are kept");
  }
  auto shape = std::make_unique<Shape>(key, trials_);
  complete(*shape);
  keyed_ += keyed ? 1 : 0;
  return *shapes_.emplace_back(std::move(shape));
}

std::unique_ptr<NonblockingCall> NonblockingCalls::Impl::start(Collective collective, const VectorArguments& arguments,
                                                               Executor executor, MpiStart mpi) {
  if (collective == Collective::gatherv || collective == Collective::scatterv ||
      (algos::pattern_of(collective) != algos::Pattern::distributed_vector && collective != Collective::alltoall)) {
    throw Error(Code::unsupported, std::string(algos::name_of(collective)) + " has sizes that its own rank knows only");
  }
  auto call = std::make_unique<Call>(shared_from_this(), std::move(mpi));
  const Call::Exposure exposure(*call);
  VectorBuffers buffers = collective == Collective::alltoall
                              ? checked_alltoall(arguments, static_cast<std::size_t>(context_->ranks()))
                              : checked_buffers(collective, arguments, context_->rank(), context_->ranks());
  Operation& operation = buffers.operation;
  if (operation.slots()) {
    throw Error(Code::unsupported, "op is an operation of the application on elements with gaps");
  }
  ShapeKey key{.kind = {},
               .call = {.collective = collective,
                        .root = algos::has_root(collective) ? arguments.root : 0,
                        .code = operation.code(),
                        .user_defined = operation.user_defined(),
                        .commutative = operation.commutative(),
                        .element_bytes = algos::combines(collective) ? operation.element_bytes() : 1,
                        .sizes = sizes_of(buffers)},
               .in_place = buffers.in_place && !algos::has_root(collective),
               .executor = operation.user_defined() ? Executor::inline_ : possible(executor)};
  if (collective != Collective::barrier &&
      std::ranges::all_of(key.call.sizes, [](std::uint64_t n) { return n == 0; })) {
    call->complete.store(true, std::memory_order_relaxed); // on all ranks
    return call;
  }
  call->buffers = bound_buffers(collective, buffers, arguments, context_->rank());
  const std::lock_guard lock(mutex_);
  Shape& shape = shape_of(key, [&](Shape& fresh) {
    RequestPlan plan;
    plan.context = context_;
    plan.operation = Operation();
    if (collective == Collective::alltoall) {
      plan.choice = requested_choice(*engine_, collective, *context_, arguments.info);
    } else {
      plan.operation = std::move(operation);
      fresh.terms = read_terms(*engine_, collective, arguments, plan);
      operation = std::move(plan.operation);
      if (fresh.terms.deterministic) { // the MPI library's bits are others
        fresh.trials = RouteTrials(false);
      }
    }
    fresh.choice = plan.choice;
  });
  Operation for_request;
  if (algos::combines(collective)) {
    if (shape.lane_of(shape.calls).state == Lane::State::fresh) {
      for_request = Operation(arguments.op, arguments.recvtype);
    }
    call->operation = std::move(operation);
  }
  enqueue(shape, *call, std::move(for_request));
  return call;
}

std::unique_ptr<NonblockingCall> NonblockingCalls::Impl::exchange(std::string_view kind,
                                                                  std::span<const PeerBlock> sends,
                                                                  std::span<const PeerBlock> recvs, Executor executor,
                                                                  MpiStart mpi) {
  auto call = std::make_unique<Call>(shared_from_this(), std::move(mpi));
  const Call::Exposure exposure(*call);
  const auto ranks = static_cast<std::size_t>(context_->ranks());
  call->buffers.send = BoundData(sends, ranks);
  call->buffers.recv = BoundData(recvs, ranks);
  const auto own = static_cast<std::size_t>(context_->rank());
  if (call->buffers.send.part_bytes(own) != call->buffers.recv.part_bytes(own)) {
    throw Error(Code::argument, "this rank sends itself " + std::to_string(call->buffers.send.part_bytes(own)) +
                                    " bytes, and receives " + std::to_string(call->buffers.recv.part_bytes(own)) +
                                    "; expected as many");
  }
  const std::lock_guard lock(mutex_);
  Shape& shape = shape_of({.kind = std::string(kind), .call = {}, .executor = possible(executor)}, [](Shape&) {});
  enqueue(shape, *call, {});
  return call;
}

void NonblockingCalls::Impl::enqueue(Shape& shape, Call& call, Operation operation) {
  call.shape = &shape;
  shape.trials.note_start(shape.calls > shape.ended);
  call.number = shape.calls++;
  shape.waiting.push_back(&call);
  Lane& lane = shape.lane_of(call.number);
  if (lane.state == Lane::State::fresh) {
    lane.state = Lane::State::asked_for;
    bindings_.push_back({&shape, call.number % lane_count, std::move(operation)});
    wake_thread();
  }
  retire_complete(shape);
  start_waiting(shape);
  call.prompt = shape.waiting.empty() || shape.waiting.back() != &call;
  if (!call.prompt) {
    wake_thread();
  }
}

void NonblockingCalls::Impl::retire_complete(Shape& shape) {
  for (Lane& lane : shape.lanes) {
    if (lane.occupant != nullptr && !lane.awaited && lane.request->request().complete()) {
      lane.request->request().await(); // only says how it was waited for: not at all
      retire(lane);
    }
  }
}

// Its request is complete, and told how it was waited for.
void NonblockingCalls::Impl::retire(Lane& lane) {
  Call& call = *std::exchange(lane.occupant, nullptr);
  Request& request = lane.request->request();
  const double before = request.statistics().exchange_seconds;
  call.error = attempt([&] { lane.request->finish(); });
  call.exchange_seconds = request.statistics().exchange_seconds - before;
  call.complete.store(true, std::memory_order_release);
}

// The MPI library's own calls, the decisions among them, are started in their order, as MPI demands; the engine's as soon as
// their lanes are free.
void NonblockingCalls::Impl::start_waiting(Shape& shape) {
  bool mpi_in_turn = shape.comm != MPI_COMM_NULL;
  std::bitset<lane_count> taken;
  for (auto next = shape.waiting.begin(); next != shape.waiting.end();) {
    Call& call = **next;
    if (!call.route) {
      if (shape.trials.asks(call.number) && !shape.agreement.asked()) {
        if (!mpi_in_turn) {
          return;
        }
        shape.agreement.ask(shape.comm, shape.trials.findings());
      }
      if (shape.trials.decides(call.number) && !decided(shape)) {
        return;
      }
      call.route = shape.trials.route();
      call.on_trial = shape.trials.on_trial();
    }
    Lane& lane = shape.lane_of(call.number);
    const std::size_t index = call.number % lane_count;
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
      start_by_mpi(call, shape.comm);
    } else if (lane.occupant != nullptr || taken.test(index)) {
      taken.set(index);
      ++next;
      continue;
    } else {
      start_on(lane, call);
    }
    next = shape.waiting.erase(next);
  }
}

bool NonblockingCalls::Impl::decided(Shape& shape) {
  const auto found = shape.agreement.answer();
  if (found) {
    shape.trials.decide(*found);
  }
  return found.has_value();
}

void NonblockingCalls::Impl::start_by_mpi(Call& call, MPI_Comm comm) {
  call.by_mpi = true;
  call.algorithm = "mpi";
  call.error = attempt([&] { check_mpi(call.mpi(comm, &call.request), "nonblocking collective"); });
  if (call.error) {
    call.complete.store(true, std::memory_order_release);
  }
}

void NonblockingCalls::Impl::start_on(Lane& lane, Call& call) {
  if (lane.state != Lane::State::failed) {
    Request& request = lane.request->request();
    call.algorithm = request.plan().choice_text;
    lane.error = attempt([&] {
      if (call.operation.user_defined()) {
        request.use(std::move(call.operation));
      }
      lane.request->start(std::move(call.buffers));
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

NonblockingCalls::Impl::Standing NonblockingCalls::Impl::look(Call& call, bool insist) {
  const std::lock_guard lock(mutex_);
  Shape& shape = *call.shape;
  retire_complete(shape);
  start_waiting(shape);
  if (insist) {
    // Whatever is in the way of this call has to go on as well.
    Lane& lane = shape.lane_of(call.number);
    if (lane.occupant != nullptr && !lane.awaited && !call.by_mpi && lane.request->request().peek()) {
      retire_complete(shape);
      start_waiting(shape);
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

void NonblockingCalls::Impl::await(Call& call) {
  Lane& lane = *call.lane;
  {
    const std::lock_guard lock(mutex_);
    if (call.complete.load(std::memory_order_relaxed)) { // since the caller looked
      return;
    }
    lane.awaited = true;
  }
  const auto lost = attempt([&] { lane.request->request().await(); });
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
  retire(lane);
  start_waiting(*call.shape);
}

void NonblockingCalls::Impl::wait_until_moved(Call& call) {
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

void NonblockingCalls::Impl::note_time(const Call& call, double seconds) {
  const std::lock_guard lock(mutex_);
  ++call.shape->ended;
  if (call.prompt && !call.error) {
    call.shape->trials.add(call.number, call.by_mpi ? Route::mpi : Route::engine, seconds,
                           seconds - call.exposed_seconds);
  }
}

void NonblockingCalls::Impl::wake_thread() {
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

NonblockingCalls::Impl::Bound NonblockingCalls::Impl::bind(Binding& binding) const {
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
    if (!shape.key.kind.empty()) {
      bound.request = make_rebindable_exchange(engine_, std::move(plan));
      return;
    }
    plan.choice = shape.choice;
    plan.in_place = shape.key.in_place;
    plan.operation = std::move(binding.operation);
    bound.request =
        make_rebindable(engine_, shape.key.call.collective, std::move(plan), shape.terms, shape.key.call.sizes);
  });
  return bound;
}

void NonblockingCalls::Impl::settle(const Binding& binding, Bound bound) {
  Shape& shape = *binding.shape;
  Lane& lane = shape.lanes[binding.lane];
  if (bound.comm != MPI_COMM_NULL) {
    shape.comm = bound.comm;
  }
  if (!bound.error) {
    lane.state = Lane::State::bound;
    lane.request = std::move(bound.request);
    shape.choice = lane.request->request().plan().choice; // what is chosen need not be chosen again
    return;
  }
  // What all ranks are told alike. A shape that the engine has no means for is left to the MPI library.
  const Code code = bound.error->code();
  const bool left_to_mpi = code == Code::resource || code == Code::unsupported || code == Code::access;
  lane.state = left_to_mpi ? Lane::State::by_mpi : Lane::State::failed;
  lane.error = std::move(bound.error);
  if (left_to_mpi) {
    engine_->log().warn("rank {}: nonblocking {} is left to the MPI library: {}", context_->rank(),
                        shape.key.kind.empty() ? algos::name_of(shape.key.call.collective) : shape.key.kind,
                        lane.error->what());
  }
}

// Requests are made in the order in which they were asked for, by one thread for all: two that take part in the same collective
// calls in another order than on other ranks would wait for each other for ever.
void NonblockingCalls::Impl::run() {
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
      start_waiting(*binding.shape);
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

// Calls that have been put off must not depend on the application to ask for them: it may be waiting for something else, on which
// another rank will not be before this one has started them. Whether there are any left.
bool NonblockingCalls::Impl::help_waiting() {
  bool left = false;
  for (const auto& shape : shapes_) {
    if (shape->waiting.empty()) {
      continue;
    }
    for (Lane& lane : shape->lanes) {
      if (lane.occupant != nullptr && !lane.awaited) {
        (void)lane.request->request().peek();
      }
    }
    retire_complete(*shape);
    start_waiting(*shape);
    left = left || !shape->waiting.empty();
  }
  return left;
}

void NonblockingCalls::Impl::bind_here() {
  std::unique_lock lock(mutex_);
  while (!bindings_.empty()) {
    Binding binding = std::move(bindings_.front());
    bindings_.pop_front();
    lock.unlock();
    // Init waits inside MPI, where inline requests stand still: not before nobody waits for them on the way here.
    call_mpi(*engine_, *context_, Collective::barrier, {});
    Bound bound = bind(binding);
    lock.lock();
    settle(binding, std::move(bound));
  }
}

NonblockingCalls::NonblockingCalls(std::shared_ptr<Engine> engine, MPI_Comm comm, bool trials)
    : impl_(std::make_shared<Impl>(std::move(engine), comm, trials)) {}

NonblockingCalls::~NonblockingCalls() { close(); }

bool NonblockingCalls::starts_locally() const { return impl_->starts_locally(); }

void NonblockingCalls::close() { impl_->close(); }

std::unique_ptr<NonblockingCall> NonblockingCalls::start(algos::Collective collective, const VectorArguments& arguments,
                                                         Executor executor, MpiStart mpi) {
  return impl_->start(collective, arguments, executor, std::move(mpi));
}

std::unique_ptr<NonblockingCall> NonblockingCalls::exchange(std::string_view kind, std::vector<PeerBlock> sends,
                                                            std::vector<PeerBlock> recvs, Executor executor,
                                                            MpiStart mpi) {
  return impl_->exchange(kind, sends, recvs, executor, std::move(mpi));
}

} // namespace stoker::engine
