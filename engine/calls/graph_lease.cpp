// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/graph_lease.hpp"

#include <cstddef>
#include <vector>

namespace stoker::engine {

GraphLease::~GraphLease() {
  for (const auto& shared : admission_.lanes) {
    family_->release(shared);
  }
}

// MPI may have given the ranks of a graph another order.
Neighbors GraphLease::neighbors_in_context(MPI_Comm graph) const {
  Neighbors neighbors = neighbors_of(graph);
  const std::vector<int> engine_ranks = family_->engine()->ranks_of(graph);
  for (auto* const list : {&neighbors.targets, &neighbors.sources}) {
    for (int& rank : *list) {
      rank = rank == MPI_PROC_NULL ? rank : context()->rank_of(engine_ranks[static_cast<std::size_t>(rank)]);
    }
  }
  return neighbors;
}

ShapeKey GraphLease::key() const {
  ShapeKey key;
  key.collective = algos::Collective::neighbor_alltoallv;
  key.lanes = admission_.lanes.size();
  key.executor = family_->executor();
  return key;
}

void GraphLease::ask_for_requests(std::uint64_t calls) {
  if (calls > calls_before_asking && !std::exchange(asked_, true)) {
    family_->ask(admission_.number);
  }
}

void GraphLease::take_made(Shape& shape) {
  for (std::size_t i = 0; i < admission_.lanes.size(); ++i) {
    family_->take_made(*admission_.lanes[i], shape.lanes[i]);
  }
}

void GraphLease::give_back(Shape& shape) {
  for (std::size_t i = 0; i < admission_.lanes.size(); ++i) {
    family_->give_back(*admission_.lanes[i], shape.lanes[i]);
  }
}

void GraphLease::note_calls(const Shape& shape) {
  family_->note_calls(shape.calls, shape.calls - shape.ended);
  if (shape.trials.decisions() > decisions_) {
    constexpr std::uint64_t most_decisions = 1U << 20U; // of a graph
    decisions_ = shape.trials.decisions();
    family_->learn((admission_.number * most_decisions) + decisions_, shape.trials);
  }
}

} // namespace stoker::engine
