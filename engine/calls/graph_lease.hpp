// SPDX-License-Identifier: BSD-3-Clause
// What the calls on one communicator with a graph have of its family.
#pragma once

#include "engine/calls/graph_family.hpp"
#include "engine/data/neighbors.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace stoker::engine {

// Used by one thread at a time.
class GraphLease {
public:
  // `admission`: which shares lanes.
  GraphLease(std::shared_ptr<GraphFamily> family, GraphFamily::Admission admission)
      : family_(std::move(family)), admission_(std::move(admission)) {}
  GraphLease(GraphLease&&) noexcept = default;
  GraphLease& operator=(GraphLease&&) = delete;
  ~GraphLease();

  [[nodiscard]] const std::shared_ptr<CommContext>& context() const { return family_->context(); }
  // The neighbors of `graph`, as ranks of the context.
  [[nodiscard]] Neighbors neighbors_in_context(MPI_Comm graph) const;
  [[nodiscard]] int tag() const { return admission_.tag; } // for communicators like the graph
  // All calls on the graph have this one: they are carried out by the same requests, one after the other.
  [[nodiscard]] ShapeKey key() const;
  [[nodiscard]] const RouteTrials& trials() const { return admission_.trials; } // to begin with

  // `calls`: of the graph. Asks for requests once there are as many as make it likely that the engine will get some.
  void ask_for_requests(std::uint64_t calls);
  // Moves requests that are made by now to the lanes of the graph's shape; and all of them back, none of which is
  // active.
  void take_made(Shape& shape);
  void give_back(Shape& shape);
  // Before a call is counted as ended.
  void note_calls(const Shape& shape);
  // Local. Whether its end waits for nothing.
  [[nodiscard]] bool at_rest() const { return can_be_left(family_); }

private:
  // Before the engine is tried: a call that waits for a request has asked for it.
  static constexpr std::uint64_t calls_before_asking = RouteTrials::calls_by_mpi / 2;
  static_assert(calls_before_asking <
                RouteTrials::warm_up + RouteTrials::of_long_calls.trial + RouteTrials::of_long_calls.lag);

  std::shared_ptr<GraphFamily> family_;
  GraphFamily::Admission admission_;
  std::uint64_t decisions_ = 0; // that the family knows of
  bool asked_ = false;          // for the requests of all lanes
};

} // namespace stoker::engine
