// SPDX-License-Identifier: BSD-3-Clause
// What communicators with a distributed graph share: see engine/calls/graph_family.hpp.
#include "api/pmpi/communicators.hpp"
#include "api/pmpi/settings.hpp"
#include "engine/base/agreement.hpp"

#include <utility>

namespace stoker::pmpi {

using engine::GraphFamily;
using Share = engine::GraphTerms::Share;

std::shared_ptr<GraphFamily> Communicator::family_with(const Communicator& graph) {
  if (graphs_ != nullptr || graphs_are_apart_) {
    return graphs_;
  }
  const bool fits = !graph.off_ && !graph.info_.names_how();
  const bool has_room = has_room_for_comms(GraphFamily::most_comms + GraphFamily::comms_of_a_graph, Budget::of_any);
  const auto failure = engine::attempt([&] {
    if (engine::on_all(graph.handle_, fits && has_room)) {
      graphs_ = std::make_shared<GraphFamily>(the_engine(), graph.handle_, graph.executor_, settings().pmpi_trials);
    }
  });
  graphs_are_apart_ = failure.has_value();
  return graphs_;
}

bool Communicator::join_graphs_of(Communicator& parent) {
  if (!inherits_ || size_ == 1 || !parent.inherits_ || !settings().pmpi_nonblocking) {
    return false;
  }
  const std::shared_ptr<GraphFamily> family = parent.family_with(*this);
  if (family == nullptr) {
    return false;
  }
  Share share = Share::no_room; // also if the MPI library has no communicator for it, on all ranks
  const bool has_room = has_room_for_comms(GraphFamily::comms_of_a_graph, Budget::of_any);
  const auto failure = engine::attempt([&] {
    auto admission = family->admit(handle_, off_ || info_.names_how(), !has_room);
    share = admission.share;
    if (share == Share::lanes) {
      engine::GraphLease lease(family, std::move(admission));
      graph_calls_ = std::make_unique<engine::Calls>(the_engine(), handle_, std::move(lease));
    }
  });
  switch (failure ? Share::no_room : share) {
  case Share::none:
    return false;
  case Share::lanes:
    move_behind_those_with_calls();
    break;
  case Share::no_room:
    graph_reason_ = Reason::no_comm;
    break;
  case Share::no_neighbors:
    graph_reason_ = Reason::no_neighbors;
    break;
  case Share::few_calls:
    graph_reason_ = Reason::few_calls;
    break;
  }
  reason_ = Reason::graph;
  wait_for_use();
  return true;
}

} // namespace stoker::pmpi
