// SPDX-License-Identifier: BSD-3-Clause
// The communicators with a distributed graph that were made from one communicator. Programs make many, one for each
// pattern of exchange, and may call each of them a few times only. What an exchange needs of the engine depends on the
// ranks alone and not on the graph: a context, and requests for one message to and from every rank. So a family has one
// context, and keeps its requests when graphs are freed: the next graph begins with those, and with the routes that
// trials of the family's calls have settled on.
//
// What is asked for is asked for as a graph is made, in an order on which all ranks agree. Calls on several graphs have
// no such order.
#pragma once

#include "engine/calls/graph_terms.hpp"
#include "engine/calls/initialiser.hpp"
#include "engine/calls/route_trials.hpp"
#include "engine/calls/shape.hpp"
#include "engine/core/engine.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace stoker::engine {

// A lane that graphs use one after the other. Guarded by the mutex of its family.
struct SharedLane {
  Lane lane; // while it is in use, the graph may have taken the request from it
  bool used = false;
};

class GraphFamily {
public:
  static constexpr int most_comms = CommContext::most_comms; // that it takes from the MPI library
  static constexpr int comms_of_a_graph = 1;
  static constexpr std::size_t most_kept = 16; // lanes; those beyond go with their graph

  // Collective over `graph`, the first. Throws Error on every rank; Error(unsupported) where MPI does not provide
  // MPI_THREAD_MULTIPLE on all ranks.
  GraphFamily(std::shared_ptr<Engine> engine, MPI_Comm graph, Executor executor, bool trials);
  GraphFamily(const GraphFamily&) = delete;
  GraphFamily& operator=(const GraphFamily&) = delete;
  // Every rank has admitted the same graphs by then.
  ~GraphFamily();

  struct Admission {
    GraphTerms::Share share;
    // Where it shares lanes.
    std::uint64_t number;
    std::vector<std::shared_ptr<SharedLane>> lanes;
    RouteTrials trials;
  };
  // Collective over `graph`, a new one. `apart`, `no_room`: see GraphFacts. Throws Error(mpi).
  [[nodiscard]] Admission admit(MPI_Comm graph, bool apart, bool no_room);

  [[nodiscard]] const std::shared_ptr<Engine>& engine() const { return engine_; }
  [[nodiscard]] const std::shared_ptr<CommContext>& context() const { return context_; }
  [[nodiscard]] Executor executor() const { return executor_; }

  // Moves the request of a lane that is made to another, or back.
  void take_made(SharedLane& shared, Lane& lane);
  void give_back(SharedLane& shared, Lane& lane);
  void release(SharedLane& shared);
  // What graphs after this one may learn. `decision`: the latest on routes, counted over all graphs; 0: none.
  void note_calls(std::uint64_t calls, std::uint64_t under_way);
  void learn(std::uint64_t decision, const RouteTrials& trials);

private:
  class Making;
  [[nodiscard]] GraphFacts facts() const;

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<CommContext> context_;
  Executor executor_;
  bool tries_;
  std::uint64_t served_ = 0; // graphs; used only as one is made

  std::mutex mutex_;                              // guards what follows
  std::vector<std::shared_ptr<SharedLane>> kept_; // in the same order on all ranks
  std::uint64_t most_calls_ = 0;
  std::uint64_t most_under_way_ = 0;
  std::uint64_t decision_ = 0;
  RouteTrials learned_{true};
  Initialiser initialiser_{mutex_};
};

} // namespace stoker::engine
