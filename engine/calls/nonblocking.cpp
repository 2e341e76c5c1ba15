// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/nonblocking.hpp"

#include "engine/base/agreement.hpp"
#include "engine/calls/blocking_calls.hpp"
#include "engine/calls/mpi_collective.hpp"
#include "engine/calls/route_agreement.hpp"
#include "engine/calls/route_trials.hpp"
#include "engine/data/arguments.hpp"
#include "engine/data/bound_data.hpp"
#include "engine/data/kept_call.hpp"
#include "engine/data/mpi_collectives.hpp"
#include "engine/helper/waiting.hpp"
#include "engine/requests/choices.hpp"
#include "engine/requests/rebindable.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
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
constexpr std::size_t lane_count = NonblockingCalls::lanes;

// How often the thread looks at calls that have been put off, and how long it stays when there are none.
constexpr std::chrono::microseconds look_interval(500);
constexpr std::chrono::seconds stay(1);

// Equal on all ranks. Of an exchange block by block the collective is enough.
struct ShapeKey {
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

  // Whether all ranks know all sizes; else blocks go straight to their ranks, as far as the engine knows.
  [[nodiscard]] bool sizes_known() const { return traits_of(key.call.collective).sizes == algos::SizesKnownTo::all; }

  ShapeKey key;
  bool deterministic = false;
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

  [[nodiscard]] std::unique_ptr<NonblockingCall> start(const CollectiveCall& given, MPI_Info info, Executor executor);

  // What calls do, each for itself.
  enum class Standing : std::uint8_t { waiting, on_lane, done };
  // One attempt. `insist`: also with what a request does only for somebody who wants it to go on without waiting for it.
  [[nodiscard]] Standing look(Call& call, bool insist);
  void await(Call& call);            // on its lane: returns when it is done
  void wait_until_moved(Call& call); // it is done, or on its lane
  void note_time(const Call& call, double seconds);

private:
  void start_with_sizes(Call& call, MPI_Info info, Executor executor);
  void start_block_by_block(Call& call, Executor executor);
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
  std::optional<Neighbors> neighbors_;   // found by the first call of a neighborhood
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

  Call(std::shared_ptr<Impl> impl, const CollectiveCall& call, const Peers& peers)
      : kept(call, peers, KeptCall::Arrays::callers), impl_(std::move(impl)) {}

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

  // Guarded by the mutex of what it is a call of, until it is complete.
  Shape* shape = nullptr; // null: there is nothing to do
  std::uint64_t number = 0;
  std::optional<Route> route;         // once all that is decided before it is
  RebindableRequest::Buffers buffers; // until it is on a lane
  Operation operation;                // likewise
  KeptCall kept;
  NarrowArrays arrays;                    // of MPI's own
  Lane* lane = nullptr;                   // that it is on
  MPI_Request request = MPI_REQUEST_NULL; // of MPI's own
  std::optional<Error> error;
  bool by_mpi = false;
  bool on_trial = false;
  bool prompt = false; // started at once
  std::uint64_t bytes = 0;
  std::string_view algorithm = "none";
  double exchange_seconds = 0;
  double exposed_seconds = 0; // its own thread's
  Clock::time_point begin = Clock::now();
  std::atomic<bool> complete{false}; // released by whoever completes it, acquired by its thread

private:
  std::shared_ptr<Impl> impl_;
};

// What the programs of rooted collectives take for send and recv at a root that is in place; others' buffers are theirs.
RebindableRequest::Buffers bound_buffers(const CollectiveCall& call, CallBuffers& buffers, int rank) {
  const Collective collective = call.collective;
  RebindableRequest::Buffers bound;
  const bool in_place_at_root = buffers.in_place && algos::has_root(collective);
  if (in_place_at_root && collective == Collective::reduce) {
    bound.send = BoundData(UserBuffer(buffers.recv.address(), Datatype(MPI_BYTE, "datatype"), buffers.recv.blocks()));
    bound.set_aside = true;
  } else if (in_place_at_root && collective == Collective::gather) {
    bound.send = BoundData(UserBuffer(buffers.recv.address(), Datatype(*call.recvtypes, "recvtype"),
                                      {buffers.recv.blocks()[static_cast<std::size_t>(rank)]}));
    bound.set_aside = true;
  } else {
    bound.send = BoundData(std::move(buffers.send));
  }
  bound.recv = BoundData(std::move(buffers.recv));
  bound.in_place = buffers.in_place && !in_place_at_root;
  return bound;
}

// One side of an exchange block by block: a block for, or from, each of its peers.
class Side {
public:
  Side(const void* buffer, const Numbers<MPI_Count>& counts, const Numbers<MPI_Aint>& displs, const MPI_Datatype* types,
       const algos::BufferTraits& traits, bool own_types)
      : buffer_(static_cast<const std::byte*>(buffer)), counts_(counts), displs_(displs), types_(types),
        traits_(traits), own_types_(own_types) {}

  // Empty blocks are left out, as they are at the other end.
  void add(int peer, std::size_t block) {
    const bool counted = traits_.counts == algos::Number::each;
    const MPI_Datatype type = types_[own_types_ ? block : 0];
    const MPI_Count count = peer == MPI_PROC_NULL ? 0 : counts_.at(counted ? block : 0);
    if (count == 0) {
      return;
    }
    MPI_Count size = 0;
    MPI_Count lower = 0;
    MPI_Count extent = 1; // displacements are bytes where blocks have types of their own
    check_mpi(MPI_Type_size_x(type, &size), "MPI_Type_size_x");
    if (!own_types_) {
      check_mpi(MPI_Type_get_extent_x(type, &lower, &extent), "MPI_Type_get_extent_x");
    }
    if (size == 0) {
      return;
    }
    const MPI_Count place = counted                                 ? MPI_Count{displs_.at(block)}
                            : traits_.blocks == algos::Number::each ? static_cast<MPI_Count>(block) * count
                                                                    : 0;
    blocks_.push_back({peer, const_cast<std::byte*>(buffer_ + place * extent), count, type});
  }
  [[nodiscard]] const std::vector<PeerBlock>& blocks() const { return blocks_; }

private:
  const std::byte* buffer_;
  const Numbers<MPI_Count>& counts_;
  const Numbers<MPI_Aint>& displs_;
  const MPI_Datatype* types_;
  const algos::BufferTraits& traits_;
  bool own_types_;
  std::vector<PeerBlock> blocks_;
};

// Adds this rank's blocks in the order in which they go out and come in.
void add_blocks(const Neighbors& neighbors, Side& send, Side& recv) {
  for (std::size_t i = 0; i < neighbors.targets.size(); ++i) {
    send.add(neighbors.targets[i], i);
  }
  for (const std::size_t i : neighbors.arrival_order) {
    recv.add(neighbors.sources[i], i);
  }
}
void add_blocks(const CollectiveCall& call, const CommContext& context, Side& send, Side& recv) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  const int ranks = context.ranks();
  const int rank = context.rank();
  const auto takes_part = [&](const algos::BufferTraits& side, const algos::BufferTraits& other, int peer) {
    return !(call.in_place() && peer == rank) && (!side.root_only || rank == call.root) &&
           (!other.root_only || peer == call.root);
  };
  for (int i = 0; i < ranks; ++i) { // the next rank first, so that not all ranks begin with the same one
    const int to = (rank + 1 + i) % ranks;
    const int from = (rank - 1 - i + 2 * ranks) % ranks;
    if (takes_part(traits.send, traits.recv, to)) {
      send.add(to, static_cast<std::size_t>(to));
    }
    if (takes_part(traits.recv, traits.send, from)) {
      recv.add(from, static_cast<std::size_t>(from));
    }
  }
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

std::unique_ptr<NonblockingCall> NonblockingCalls::Impl::start(const CollectiveCall& given, MPI_Info info,
                                                               Executor executor) {
  Peers peers{.ranks = static_cast<std::size_t>(context_->ranks()), .at_root = context_->rank() == given.root};
  if (pattern_of(given.collective) == algos::Pattern::neighborhood) {
    if (!neighbors_) {
      neighbors_ = neighbors_of(context_->comm());
    }
    peers.targets = neighbors_->targets.size();
    peers.sources = neighbors_->sources.size();
  }
  auto call = std::make_unique<Call>(shared_from_this(), given, peers);
  const Call::Exposure exposure(*call);
  if (traits_of(given.collective).sizes == algos::SizesKnownTo::all) {
    start_with_sizes(*call, info, possible(executor));
  } else {
    start_block_by_block(*call, possible(executor));
  }
  return call;
}

void NonblockingCalls::Impl::start_with_sizes(Call& call, MPI_Info info, Executor executor) {
  const CollectiveCall& given = call.kept.call();
  const Collective collective = given.collective;
  CallBuffers buffers = checked_buffers(given, context_->rank(), context_->ranks());
  Operation& operation = buffers.operation;
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
  call.buffers = bound_buffers(given, buffers, context_->rank());
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

void NonblockingCalls::Impl::start_block_by_block(Call& call, Executor executor) {
  const CollectiveCall& given = call.kept.call();
  const algos::CollectiveTraits& traits = traits_of(given.collective);
  if (given.in_place() && !traits.has_root) {
    throw Error(Code::unsupported, std::string(traits.name) + " in place would send what it has overwritten");
  }
  Side send(given.sendbuf, given.sendcounts, given.sdispls, given.sendtypes, traits.send, traits.own_types);
  Side recv(given.recvbuf, given.recvcounts, given.rdispls, given.recvtypes, traits.recv, traits.own_types);
  traits.pattern == algos::Pattern::neighborhood ? add_blocks(*neighbors_, send, recv)
                                                 : add_blocks(given, *context_, send, recv);
  const auto ranks = static_cast<std::size_t>(context_->ranks());
  call.buffers.send = BoundData(send.blocks(), ranks);
  call.buffers.recv = BoundData(recv.blocks(), ranks);
  call.bytes = call.buffers.send.bytes();
  const auto own = static_cast<std::size_t>(context_->rank());
  const std::uint64_t sent = call.buffers.send.part_bytes(own);
  const std::uint64_t received = call.buffers.recv.part_bytes(own);
  if (sent != received) {
    throw Error(Code::argument, "this rank sends itself " + std::to_string(sent) + " bytes, and receives " +
                                    std::to_string(received) + "; expected as many");
  }
  const std::lock_guard lock(mutex_);
  ShapeKey key;
  key.call.collective = given.collective;
  key.executor = executor;
  Shape& shape = shape_of(key, [](Shape&) {});
  enqueue(shape, call, {});
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
  call.error = attempt(
      [&] { check_mpi(start_mpi(call.kept.call(), comm, &call.request, call.arrays), "nonblocking collective"); });
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
    if (!shape.sizes_known()) {
      bound.request = make_rebindable_exchange(engine_, std::move(plan));
      return;
    }
    plan.choice = shape.choice;
    plan.in_place = shape.key.in_place;
    plan.operation = std::move(binding.operation);
    plan.root = shape.key.call.root;
    plan.deterministic = shape.deterministic;
    bound.request = make_rebindable(engine_, shape.key.call.collective, std::move(plan), shape.key.call.sizes);
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
                        algos::name_of(shape.key.call.collective), lane.error->what());
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
    wait_for_mpi(*engine_, *context_, {});
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

std::unique_ptr<NonblockingCall> NonblockingCalls::start(const CollectiveCall& call, MPI_Info info, Executor executor) {
  return impl_->start(call, info, executor);
}

} // namespace stoker::engine
