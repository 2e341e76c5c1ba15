// SPDX-License-Identifier: BSD-3-Clause
// The collective calls on one communicator, blocking and nonblocking: requests that are initialised by the first call
// of a shape, and bound to the buffers of every later one. The start of a nonblocking call is local (MPI-4.1, section
// 6.12: it may not wait for other ranks), so its request is initialised in the background.
//
// Which call may use which request is decided by the order of calls on the communicator and by what MPI requires to be
// equal on all ranks: see kept_shapes.hpp. Where sizes are known to their own rank only (alltoallv, gatherv,
// neighborhoods) every block goes straight to its rank, which takes no more knowledge than that.
//
// A shape whose calls take longer than the MPI library's own is left to that: some calls of either kind are timed, and
// the ranks agree on what they saw, without waiting for one another.
#pragma once

#include "engine/base/own_comm.hpp"
#include "engine/calls/call_under_way.hpp"
#include "engine/calls/graph_lease.hpp"
#include "engine/calls/initialiser.hpp"
#include "engine/calls/kept_shapes.hpp"
#include "engine/calls/put_off_starts.hpp"
#include "engine/calls/shape.hpp"
#include "engine/core/comm_context.hpp"
#include "engine/core/engine.hpp"
#include "engine/data/collective_call.hpp"
#include "engine/requests/request.hpp"

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace stoker::engine {

// One thread at a time starts calls, in the same order on all ranks. Several threads may wait for different ones.
class Calls final : private PutOff {
public:
  static constexpr int most_comms = CommContext::most_comms + 1; // that it takes from the MPI library

  // For blocking and nonblocking calls. Collective over comm, whose ranks are the engine's and which is duplicated.
  // Without trials all calls are the engine's, but those for which it has no request. `tag`: see CommsTogether. Throws
  // Error on every rank.
  //
  // Where MPI provides MPI_THREAD_MULTIPLE on all ranks of the engine, a thread of this object's initialises requests.
  // Elsewhere requests are initialised inside wait(), which waits for the other ranks then: only blocking calls may be
  // made there.
  Calls(std::shared_ptr<Engine> engine, MPI_Comm comm, bool trials = true, std::optional<int> tag = std::nullopt);
  // For blocking calls without trials, in a context that nobody else uses meanwhile. Local. Sizes are rounded up, so
  // that calls of many sizes need few requests: up to 64 KiB to the next power of two, at least 64 elements (or bytes,
  // where nothing is combined), and beyond that by an eighth at most. Operations of the application never see an
  // element that is not the caller's, so their sizes, and sizes that differ between ranks, are not rounded.
  Calls(std::shared_ptr<Engine> engine, std::shared_ptr<CommContext> context);
  // For the neighborhood collectives on a communicator with a graph, blocking and nonblocking, in the context of its
  // family. Collective over comm. Throws Error on every rank.
  Calls(std::shared_ptr<Engine> engine, MPI_Comm comm, GraphLease lease);
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls() { close(); }

  // Whether start() is local on all ranks. Else only blocking calls may be made.
  [[nodiscard]] bool starts_locally() const { return threaded_; }

  // Collective, if the constructor was. No call may be outstanding; none may be started afterwards. Before the engine
  // is destroyed and before MPI is finalized.
  void close();
  // Local, where no call is outstanding. Whether close() need not wait for other ranks.
  [[nodiscard]] bool at_rest();
  // Local. The application frees its communicator: errors of calls go to the handler of `errors` from now on.
  void outlive_comm(MPI_Comm errors);

  // Local. Of `call` the buffers need to outlive the call, and an operator of the application's, which MPI has no means
  // to keep; its communicator is not looked at. `info` is read when a shape is first seen. Executor::engine
  // stands for Executor::inline_ where the engine has no helpers, or the operator is the application's. `blocking`: the
  // call is waited for before the next one is started.
  //
  // Collectives whose sizes not all ranks know are exchanged block by block, straight between two ranks.
  //
  // Null where no request is to be had on any rank, which is decided alike on all ranks: the shape has no place (see
  // KeptShapes), the operator is the application's and its elements have gaps (the ranks' datatypes must be alike in
  // that), or alltoallv is in place. Throws Error(argument) for what is wrong with this rank's arguments, and nothing
  // is started then.
  [[nodiscard]] std::unique_ptr<CallUnderWay> start(const CollectiveCall& given, MPI_Info info, Executor executor,
                                                    bool blocking = false, bool small = false);

  // Small calls are nonblocking ones of so few bytes that they are the MPI library's until they are found overlapped.
  // Whether there are such: where the engine has helpers, and ranks on several nodes.
  [[nodiscard]] bool takes_small_calls(Executor executor) const;
  // Returns a communicator for the MPI library's own call, in this place among the calls, or MPI_COMM_NULL: the call is
  // to be started here. Local. Two ranks may be given different answers, as what start() leaves to the MPI library is
  // on the same communicator. `bytes`: of all blocks; not none, unless it is a barrier.
  [[nodiscard]] MPI_Comm comm_to_pass(const CollectiveCall& call, std::uint64_t bytes, Executor executor);

  // What calls do, each for itself.
  enum class Standing : std::uint8_t { waiting, on_lane, at_mpi, done };
  // One attempt. `insist`: also with what a request does only for somebody who wants it to go on without waiting for
  // it.
  [[nodiscard]] Standing look(QueuedCall& call, bool insist);
  void await(QueuedCall& call); // on its lane: returns when it is done
  // At the MPI library: makes its blocking call, which takes less than a nonblocking one and a wait, and without the
  // mutex. As in any blocking call that is the MPI library's, the thread does nothing for others meanwhile.
  // Such a call is waited for; nobody asks whether it is done.
  void stay_in_mpi(QueuedCall& call);
  void look_around(QueuedCall& call, std::uint64_t waited_ns);
  static void lose(QueuedCall& call, const Error& error); // its lane is of no use any more
  void wait_until_moved(QueuedCall& call);                // it is done, on its lane, or at the MPI library
  void end(QueuedCall& call, double seconds);

private:
  class Binding; // a request to be made
  // Return whether there is a place for the call.
  [[nodiscard]] bool start_with_sizes(QueuedCall& call, MPI_Info info, Executor executor, bool blocking, bool small);
  [[nodiscard]] bool start_block_by_block(QueuedCall& call, Executor executor, bool blocking);
  [[nodiscard]] Spacing round_up(ShapeKey& key) const;
  [[nodiscard]] Shape* shape_of(const ShapeKey& key, const RouteTrials& trials,
                                const std::function<void(Shape&)>& complete);
  void enqueue(Shape& shape, QueuedCall& call);
  void note_small(const CollectiveCall& call, std::uint64_t bytes, Executor executor, Shape* shape);
  void start_waiting();
  void ask_for_requests(QueuedCall& call);
  [[nodiscard]] Executor possible(Executor executor) const {
    return engine_->has_helpers() ? executor : Executor::inline_;
  }

  // The mutex, where there are other threads.
  [[nodiscard]] std::unique_lock<std::mutex> guard() {
    return threaded_ ? std::unique_lock(mutex_) : std::unique_lock(mutex_, std::defer_lock);
  }
  void look_after(const QueuedCall& call);
  bool try_starts() override;

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<CommContext> context_;     // for whoever makes requests
  bool stands_in_;                           // for the MPI library: what the engine refuses is the library's business
  std::shared_ptr<EpochMemory> send_memory_; // of all requests, where one is active at a time
  std::shared_ptr<EpochMemory> recv_memory_;
  std::optional<GraphLease> lease_;    // of the calls on a communicator with a graph
  std::optional<Neighbors> neighbors_; // in ranks of the context; else found by the first call that needs them
  bool trials_;
  bool threaded_ = false;
  OwnedComm mpi_comm_; // for the MPI library's own calls, where whoever makes requests is another thread

  std::mutex mutex_; // guards what follows, and calls until they are done
  KeptShapes shapes_;
  WaitingCalls waiting_;
  bool closed_ = false;
  Initialiser initialiser_{mutex_};
};

} // namespace stoker::engine
