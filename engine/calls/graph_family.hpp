// SPDX-License-Identifier: BSD-3-Clause
// The communicators with a distributed graph that were made from one communicator. Programs make many, one for each
// pattern of exchange, and may call each of them a few times only. What an exchange needs of the engine depends on the
// ranks alone and not on the graph: a context, and requests for one message to and from every rank. So a family has one
// context, and keeps its requests when graphs are freed: the next graph begins with those, and with the routes that
// trials of the family's calls have settled on.
//
// The request of a lane is asked for when the graph has been called some times, or as the graph is made, if the engine
// carries out its first call already. Making one is collective, and ranks may call several graphs in different orders.
// So in every round of making all ranks bring the first graph that they have asked for, and make what the first of
// these lacks. A rank that has not asked for that one will.
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
#include <set>
#include <vector>

namespace stoker::engine {

// A lane that graphs use one after the other. Guarded by the mutex of its family.
struct SharedLane {
  Lane lane; // while it is in use, the graph may have taken the request from it
  bool used = false;
  std::uint64_t graph = 0; // in the round of which its request is made: a number
};

class GraphFamily {
public:
  static constexpr int most_comms = CommContext::most_comms; // that it takes from the MPI library
  static constexpr int comms_of_a_graph = 1;
  static constexpr std::size_t most_kept = 16; // lanes; those beyond go with their graph

  // Collective over `graph`, the first. Throws Error on every rank; Error(unsupported) where MPI does not provide
  // MPI_THREAD_MULTIPLE on all ranks of the engine.
  GraphFamily(std::shared_ptr<Engine> engine, MPI_Comm graph, Executor executor, bool trials);
  GraphFamily(const GraphFamily&) = delete;
  GraphFamily& operator=(const GraphFamily&) = delete;
  // Every rank has admitted the same graphs by then. Waits for what this rank has asked for, which the others have,
  // too, or will without this one.
  ~GraphFamily();

  struct Admission {
    GraphTerms::Share share;
    // Where it shares lanes.
    std::uint64_t number;
    int tag; // for its communicators: see CommsTogether
    std::vector<std::shared_ptr<SharedLane>> lanes;
    RouteTrials trials;
  };
  // Collective over `graph`, a new one. `apart`, `no_room`: see GraphFacts. Throws Error(mpi).
  [[nodiscard]] Admission admit(MPI_Comm graph, bool apart, bool no_room);

  [[nodiscard]] const std::shared_ptr<Engine>& engine() const { return engine_; }
  [[nodiscard]] const std::shared_ptr<CommContext>& context() const { return context_; }
  [[nodiscard]] Executor executor() const { return executor_; }

  // Local. Asks for the requests of the lanes of an admitted graph. All ranks do, at any time.
  void ask(std::uint64_t graph);
  // Local. Whether nothing that was asked for is being made.
  [[nodiscard]] bool at_rest();
  // Moves the request of a lane that is made to another, or back.
  void take_made(SharedLane& shared, Lane& lane);
  void give_back(SharedLane& shared, Lane& lane);
  void release(const std::shared_ptr<SharedLane>& shared);
  // What graphs after this one may learn. `decision`: the latest on routes, counted over all graphs; 0: none.
  void note_calls(std::uint64_t calls, std::uint64_t under_way);
  void learn(std::uint64_t decision, const RouteTrials& trials);

private:
  class Making;
  [[nodiscard]] GraphFacts facts() const;
  [[nodiscard]] std::uint64_t first_of_all(std::uint64_t asked) const;
  [[nodiscard]] std::vector<std::shared_ptr<SharedLane>> take_unmade(std::uint64_t graph);

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<CommContext> context_;
  Executor executor_;
  bool tries_;

  std::mutex mutex_;                                // guards what follows
  std::uint64_t served_ = 0;                        // graphs
  std::vector<std::shared_ptr<SharedLane>> kept_;   // in the same order on all ranks
  std::vector<std::shared_ptr<SharedLane>> unmade_; // likewise those of a graph
  std::set<std::uint64_t> asked_;                   // graphs whose lanes this rank waits for
  bool making_ = false;                             // there is a round, which is waiting or under way
  std::uint64_t most_calls_ = 0;
  std::uint64_t most_under_way_ = 0;
  std::uint64_t decision_ = 0;
  RouteTrials learned_{true};
  Initialiser initialiser_{mutex_};
};

// Local. Whether letting go of it waits for nothing: somebody else keeps it, or it makes no request.
[[nodiscard]] inline bool can_be_left(const std::shared_ptr<GraphFamily>& family) {
  return family.use_count() > 1 || family->at_rest();
}

} // namespace stoker::engine
