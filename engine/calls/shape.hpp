// SPDX-License-Identifier: BSD-3-Clause
// Calls of one shape, equal in everything that a request is made for, and the requests that carry them out one after
// the other.
#pragma once

#include "engine/calls/route_agreement.hpp"
#include "engine/calls/route_trials.hpp"
#include "engine/data/kept_call.hpp"
#include "engine/data/mpi_collectives.hpp"
#include "engine/data/operation.hpp"
#include "engine/requests/epoch_binding.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker::engine {

struct Lane;
struct Shape;

// A call from its start to its completion.
struct QueuedCall {
  // A blocking call is complete before its arguments are gone.
  QueuedCall(const CollectiveCall& given, const Peers& peers, bool blocking) : call(given) {
    if (!blocking) {
      kept = std::make_unique<KeptCall>(given, peers);
      call = kept->call();
    }
  }
  QueuedCall(const QueuedCall&) = delete;
  QueuedCall& operator=(const QueuedCall&) = delete;
  ~QueuedCall() = default;

  // Guarded by the mutex of what it is a call of, until it is complete.
  Shape* shape = nullptr; // null: there is nothing to do
  std::uint64_t number = 0;
  std::optional<Route> route; // once all that is decided before it is
  EpochBuffers buffers;       // until it is on a lane
  Operation operation;        // likewise
  CollectiveCall call;
  std::unique_ptr<KeptCall> kept;         // what it points to
  NarrowArrays arrays;                    // of MPI's own
  Lane* lane = nullptr;                   // that it is on
  MPI_Request request = MPI_REQUEST_NULL; // of MPI's own
  std::optional<Error> error;
  bool by_mpi = false;
  bool stays_in_mpi = false; // if it is the MPI library's: its blocking function is called, by the thread that waits
  bool on_trial = false;
  bool prompt = false;  // started at once
  bool held_up = false; // by a decision, or until its request was made; not only by calls before it
  std::uint64_t bytes = 0;
  std::string_view algorithm = "none";
  double exchange_seconds = 0;
  double exposed_seconds = 0; // its own thread's
  std::chrono::steady_clock::time_point begin;
  std::atomic<bool> complete{false}; // released by whoever completes it, acquired by its thread
};

// Calls that are under way at the same time; more wait for these.
inline constexpr std::size_t lanes_of_a_shape = 4;

// How many of a shape's lanes are used. The request of an exchange has messages to and from all ranks, so where there
// are many, one is all that a node has memory for.
[[nodiscard]] constexpr std::size_t lanes_used(algos::Collective collective, int ranks, bool blocking) {
  constexpr int many = 1024;
  const bool large = algos::pattern_of(collective) == algos::Pattern::exchange && ranks > many;
  return blocking || large ? 1 : lanes_of_a_shape;
}

// Equal on all ranks, as it consists of what MPI requires to be so; never of addresses or datatypes' handles, which one
// rank may have seen before and another not. Of an exchange block by block the collective is enough.
struct ShapeKey {
  algos::Collective collective = algos::Collective::barrier;
  int root = 0;
  OperationCode code;
  bool user_defined = false; // any operation of the application: each call brings its own
  bool commutative = true;
  std::uint64_t element_bytes = 1;
  std::vector<std::uint64_t> sizes;
  bool in_place = false; // on all ranks
  bool blocking = false; // each is complete before the next one
  bool small = false;    // the MPI library's until they are found overlapped
  std::size_t lanes = lanes_of_a_shape;
  Executor executor = Executor::inline_;
  bool operator==(const ShapeKey&) const = default;
};

// One of a shape's requests.
struct Lane {
  enum class State : std::uint8_t { fresh, asked_for, bound, by_mpi, failed };
  State state = State::fresh;
  std::unique_ptr<Request> request;
  std::string_view algorithm;     // of the request; never freed
  std::optional<Error> error;     // of failed
  QueuedCall* occupant = nullptr; // the call that uses it
  bool awaited = false;           // by the occupant's thread, without the mutex: nobody else touches the request
};

struct Shape {
  Shape(ShapeKey shape_key, const RouteTrials& fresh) : key(std::move(shape_key)), trials(fresh) {}

  // Complete calls whose requests are complete. With the mutex of the calls on the communicator.
  void retire_complete();
  void retire(Lane& lane);
  // All lanes that are used wait for their requests.
  void ask_for_all() {
    std::for_each_n(lanes.begin(), lane_count, [](Lane& lane) { lane.state = Lane::State::asked_for; });
  }
  // Whether all calls so far have ended, and nothing that came with them is under way. Local.
  [[nodiscard]] bool over();

  [[nodiscard]] std::size_t lane_number(std::uint64_t call) const { return call % lane_count; }
  [[nodiscard]] Lane& lane_of(std::uint64_t call) { return lanes[lane_number(call)]; }

  // Whether all ranks know all sizes; else blocks go straight to their ranks, as far as the engine knows.
  [[nodiscard]] bool sizes_known() const { return traits_of(key.collective).sizes == algos::SizesKnownTo::all; }

  ShapeKey key;
  std::size_t lane_count = key.lanes; // changes only before the engine is asked for the first call
  bool deterministic = false;
  algos::Choice choice;                 // once the first request is made
  std::string chosen_by = "cost model"; // as of RequestPlan
  std::uint64_t calls = 0;
  std::uint64_t ended = 0;       // of them
  std::uint64_t latest_call = 0; // counted on the communicator
  std::size_t waiting = 0;       // calls that have not been started yet
  std::bitset<lanes_of_a_shape>
      held; // lanes for which an earlier call is waiting, as the waiting ones are gone through
  std::array<Lane, lanes_of_a_shape> lanes;
  RouteTrials trials;
  RouteAgreement agreement; // on the decision that is being made
};

// The calls on one communicator that have not been started yet, in their order. With their mutex.
class WaitingCalls {
public:
  // `comm`: for the MPI library's own calls and the decisions on routes.
  explicit WaitingCalls(MPI_Comm comm) : comm_(comm) {}
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] bool empty() const { return calls_.empty(); }
  // Whether the call, which is the latest one, is waiting.
  [[nodiscard]] bool has(const QueuedCall& latest) const { return !calls_.empty() && calls_.back() == &latest; }
  void add(QueuedCall& call) {
    ++call.shape->waiting;
    calls_.push_back(&call);
  }
  // Starts those that can be. `ask_for_requests(call)` asks for the requests that the call's shape needs and that have
  // not been asked for; which these are is the same on all ranks, and the order.
  void start(const std::function<void(QueuedCall&)>& ask_for_requests);

private:
  // What no earlier call stands in the way of.
  struct InTurn {
    bool mpi = true;      // none may become one of the MPI library's
    bool requests = true; // none may turn out to need a request first
  };
  // Whether it is not waiting any more.
  [[nodiscard]] bool try_start(QueuedCall& call, InTurn& in_turn,
                               const std::function<void(QueuedCall&)>& ask_for_requests) const;

  MPI_Comm comm_;
  std::deque<QueuedCall*> calls_;
};

} // namespace stoker::engine
