// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking collectives, whose start is local: requests that are initialised by the first call of a shape, in the
// background, and bound to the buffers of every later one (MPI-4.1, section 6.12: a nonblocking collective may not wait
// for other ranks).
//
// Which call may use which request is decided by the order of calls on the communicator and by what MPI requires to be
// equal on all ranks: the collective, the root, the operation, sizes in bytes. Where sizes are known to their own rank
// only (alltoallv, gatherv, neighborhoods) every block goes straight to its rank, which takes no more knowledge than
// that.
//
// A shape whose calls take longer than the MPI library's own is left to that: some calls of either kind are timed, and
// the ranks agree on what they saw, without waiting for one another.
#pragma once

#include "engine/calls/shape.hpp"
#include "engine/core/engine.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/requests/request.hpp"

#include <mpi.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace stoker::engine {

// One call. Used by one thread at a time. May only be destroyed once it is complete.
class NonblockingCall {
public:
  virtual ~NonblockingCall() = default;
  // Local: one attempt with this thread's own means. True: complete, and finish() has only to be called. MPI's own
  // progress is the caller's business while this is false.
  [[nodiscard]] virtual bool done() = 0;
  // Returns once done() would be true; drives the MPI library meanwhile.
  virtual void wait() = 0;
  // Ends a call that is done; called once. The results are then where the caller wants them. Throws Error.
  virtual void finish() = 0;

  // Once it is finished.
  struct Report {
    bool by_mpi = false;   // the MPI library's own call
    bool on_trial = false; // to compare the two
    double exchange_seconds = 0;
    double exposed_seconds = 0; // spent inside start, done, wait and finish
    std::uint64_t bytes = 0;    // of all blocks; of those that this rank sends where it knows no others
    // Storage of the communicator's calls; "mpi": the MPI library's; "none": there was nothing to do.
    std::string_view algorithm;
  };
  [[nodiscard]] virtual Report report() const = 0;
};

// The calls on one communicator. One thread at a time starts calls, in the same order on all ranks. Several threads may
// wait for different ones.
//
// Where MPI provides MPI_THREAD_MULTIPLE on all ranks, a thread of this object's initialises requests, and starts calls
// that had to be put off because of that, or because so many before them were not complete. It exists while there is
// something of that kind to do, and a little longer. Elsewhere requests are initialised inside wait(), which waits for
// the other ranks then: only calls that are waited for at once, as blocking ones are, may be made there.
class NonblockingCalls {
public:
  // Collective over comm, whose ranks are the engine's and which is duplicated. Without trials all calls are the
  // engine's, but those for which it has no request. Throws Error on every rank.
  NonblockingCalls(std::shared_ptr<Engine> engine, MPI_Comm comm, bool trials = true);
  NonblockingCalls(const NonblockingCalls&) = delete;
  NonblockingCalls& operator=(const NonblockingCalls&) = delete;
  ~NonblockingCalls() { close(); }

  // Whether start() is local on all ranks. Else, without MPI_THREAD_MULTIPLE, a call gets on in wait() only, and has to
  // be waited for before the next one is started.
  [[nodiscard]] bool starts_locally() const { return threaded_; }

  // Collective. No call may be outstanding; none may be started afterwards. Before the engine is destroyed and before
  // MPI is finalized.
  void close();

  // Local. Of `call` arrays and buffers need to outlive the call, and an operator of the application's, which MPI has
  // no means to keep; its communicator is not looked at. `info` is read when a shape is first seen. Executor::engine
  // stands for Executor::inline_ where the engine has no helpers, or the operator is the application's.
  //
  // Collectives whose sizes not all ranks know are exchanged block by block, straight between two ranks.
  //
  // Throws Error(argument) for what is wrong with this rank's arguments, and nothing is started then;
  // Error(unsupported) where no request is to be had on any rank, which is decided alike on all ranks: the shapes are
  // used up (most_shapes), the operator is the application's and its elements have gaps (the ranks' datatypes must be
  // alike in that), or alltoallv is in place.
  [[nodiscard]] std::unique_ptr<NonblockingCall> start(const CollectiveCall& given, MPI_Info info, Executor executor);

  static constexpr std::size_t most_shapes = 64; // whose sizes all ranks know

  // What calls do, each for itself.
  enum class Standing : std::uint8_t { waiting, on_lane, done };
  // One attempt. `insist`: also with what a request does only for somebody who wants it to go on without waiting for
  // it.
  [[nodiscard]] Standing look(QueuedCall& call, bool insist);
  void await(QueuedCall& call);            // on its lane: returns when it is done
  void wait_until_moved(QueuedCall& call); // it is done, or on its lane
  void note_time(const QueuedCall& call, double seconds);

private:
  // A request to be made.
  struct Binding {
    Shape* shape = nullptr;
    std::size_t lane = 0;
    Operation operation;
  };
  void start_with_sizes(QueuedCall& call, MPI_Info info, Executor executor);
  void start_block_by_block(QueuedCall& call, Executor executor);
  Shape& shape_of(const ShapeKey& key, const std::function<void(Shape&)>& complete);
  void enqueue(Shape& shape, QueuedCall& call, Operation operation); // which is for its lane's request
  [[nodiscard]] Executor possible(Executor executor) const {
    return engine_->has_helpers() ? executor : Executor::inline_;
  }

  // Both with the mutex.
  void wake_thread();
  [[nodiscard]] bool help_waiting();

  struct Bound {
    std::unique_ptr<Request> request;
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

} // namespace stoker::engine
