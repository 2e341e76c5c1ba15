// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/route_agreement.hpp"

#include "engine/calls/forwarded_errors.hpp"

namespace stoker::engine {

RouteAgreement::~RouteAgreement() {
  if (request_ != MPI_REQUEST_NULL) {
    (void)findings_.release();
  }
}

std::optional<Route> RouteAgreement::route_of(std::uint64_t call, RouteTrials& trials, MPI_Comm comm) {
  if (trials.asks(call) && !asked_) {
    if (comm == MPI_COMM_NULL) {
      return std::nullopt;
    }
    ask(comm, trials.findings());
  }
  if (trials.decides(call)) {
    const auto found = answer();
    if (!found) {
      return std::nullopt;
    }
    trials.decide(*found);
  }
  return trials.route_of(call);
}

void RouteAgreement::ask(MPI_Comm comm, const RouteTrials::Findings& mine) {
  const ErrorsAreReturned here;
  asked_ = true;
  *findings_ = mine;
  if (PMPI_Iallreduce(MPI_IN_PLACE, findings_->data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, comm,
                      &request_) != MPI_SUCCESS) {
    request_ = MPI_REQUEST_NULL;
    *findings_ = RouteTrials::nothing_found;
  }
}

bool RouteAgreement::progress() {
  const ErrorsAreReturned here;
  int done = 0;
  if (request_ != MPI_REQUEST_NULL && PMPI_Test(&request_, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
    request_ = MPI_REQUEST_NULL;
    *findings_ = RouteTrials::nothing_found;
  }
  return request_ == MPI_REQUEST_NULL;
}

std::optional<RouteTrials::Findings> RouteAgreement::answer() {
  if (!progress()) {
    return std::nullopt;
  }
  asked_ = false;
  return *findings_;
}

void RouteAgreement::wait() {
  const ErrorsAreReturned here;
  PMPI_Wait(&request_, MPI_STATUS_IGNORE);
  asked_ = false;
}

} // namespace stoker::engine
