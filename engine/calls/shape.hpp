// SPDX-License-Identifier: BSD-3-Clause
// Calls of one shape, equal in everything that a request is made for, and the requests that carry them out one after
// the other.
#pragma once

#include "engine/calls/blocking_calls.hpp"
#include "engine/calls/route_agreement.hpp"
#include "engine/calls/route_trials.hpp"
#include "engine/data/kept_call.hpp"
#include "engine/data/mpi_collectives.hpp"
#include "engine/requests/epoch_binding.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace stoker::engine {

struct Lane;
struct Shape;

// A call from its start to its completion.
struct QueuedCall {
  QueuedCall(const CollectiveCall& call, const Peers& peers) : kept(call, peers, KeptCall::Arrays::callers) {}
  QueuedCall(const QueuedCall&) = delete;
  QueuedCall& operator=(const QueuedCall&) = delete;
  ~QueuedCall() = default;

  // Guarded by the mutex of what it is a call of, until it is complete.
  Shape* shape = nullptr; // null: there is nothing to do
  std::uint64_t number = 0;
  std::optional<Route> route; // once all that is decided before it is
  EpochBuffers buffers;       // until it is on a lane
  Operation operation;        // likewise
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
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::atomic<bool> complete{false}; // released by whoever completes it, acquired by its thread
};

inline constexpr std::size_t lanes_of_a_shape =
    4; // calls of it that are under way at the same time; more wait for these

// Equal on all ranks. Of an exchange block by block the collective is enough.
struct ShapeKey {
  BlockingKey call;
  bool in_place = false; // on all ranks
  Executor executor = Executor::inline_;
  bool operator==(const ShapeKey&) const = default;
};

// One of a shape's requests.
struct Lane {
  enum class State : std::uint8_t { fresh, asked_for, bound, by_mpi, failed };
  State state = State::fresh;
  std::unique_ptr<Request> request;
  std::optional<Error> error;     // of failed
  QueuedCall* occupant = nullptr; // the call that uses it
  bool awaited = false;           // by the occupant's thread, without the mutex: nobody else touches the request
};

struct Shape {
  Shape(ShapeKey shape_key, bool trials_on) : key(std::move(shape_key)), trials(trials_on) {}

  // Starts the calls that are waiting, as far as they can be, and completes those whose requests are. All with the
  // mutex of the calls on the communicator.
  void retire_complete();
  void retire(Lane& lane);
  void start_waiting();

  [[nodiscard]] Lane& lane_of(std::uint64_t call) { return lanes[call % lanes_of_a_shape]; }

  // Whether all ranks know all sizes; else blocks go straight to their ranks, as far as the engine knows.
  [[nodiscard]] bool sizes_known() const { return traits_of(key.call.collective).sizes == algos::SizesKnownTo::all; }

  ShapeKey key;
  bool deterministic = false;
  algos::Choice choice; // once the first request is made
  std::uint64_t calls = 0;
  std::uint64_t ended = 0;         // of them
  std::deque<QueuedCall*> waiting; // not started yet, in their order
  std::array<Lane, lanes_of_a_shape> lanes;
  MPI_Comm comm = MPI_COMM_NULL; // for MPI's own calls, from the time of the first request on
  RouteTrials trials;
  RouteAgreement agreement; // on the decision that is being made

private:
  [[nodiscard]] bool decided();
  void start_by_mpi(QueuedCall& call) const;
  static void start_on(Lane& lane, QueuedCall& call);
};

} // namespace stoker::engine
