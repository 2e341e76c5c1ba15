// SPDX-License-Identifier: BSD-3-Clause
// Brings together what all ranks found of a route, without any rank waiting for another.
#pragma once

#include "engine/calls/route_trials.hpp"

#include <mpi.h>

#include <memory>
#include <optional>

namespace stoker::engine {

// One question at a time. Used by one thread at a time.
class RouteAgreement {
public:
  RouteAgreement() = default;
  RouteAgreement(const RouteAgreement&) = delete;
  RouteAgreement& operator=(const RouteAgreement&) = delete;
  // Local. A question without an answer is left to MPI, storage included.
  ~RouteAgreement();

  // The route of a call, the next that has none; null as long as the ranks have not decided on it. Local. May ask by a
  // nonblocking collective over comm, which then comes in the same place among the calls on it on all ranks.
  // MPI_COMM_NULL: that place has not been reached.
  [[nodiscard]] std::optional<Route> route_of(std::uint64_t call, RouteTrials& trials, MPI_Comm comm);
  // Until answer() has given one.
  [[nodiscard]] bool asked() const { return asked_; }
  // Local. Lets MPI work on it. Returns whether there is no question that has no answer.
  bool progress();
  // Local. The largest of all ranks, once there: nothing_found where MPI fails, as its own calls do then, too.
  [[nodiscard]] std::optional<RouteTrials::Findings> answer();
  // Waits until all ranks have asked.
  void wait();

private:
  void ask(MPI_Comm comm, const RouteTrials::Findings& mine);

  std::unique_ptr<RouteTrials::Findings> findings_ = std::make_unique<RouteTrials::Findings>();
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool asked_ = false;
};

} // namespace stoker::engine
