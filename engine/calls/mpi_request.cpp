// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/mpi_request.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/mpi_defects.hpp"

#include <utility>

namespace stoker::engine {
namespace {

constexpr const char* what = "the MPI library's call of a persistent collective";

bool persistent_is_right(algos::Collective collective) {
  switch (collective) {
  case algos::Collective::allgather:
  case algos::Collective::reduce:
    return !mpi_has(MpiDefect::persistent_allgather);
  case algos::Collective::gather:
  case algos::Collective::scatter:
    return !mpi_has(MpiDefect::persistent_gather);
  default:
    return true;
  }
}

} // namespace

bool own_request_can_be_given(algos::Collective collective) {
  return persistent_is_right(collective) && !mpi_has(MpiDefect::persistent_completion) &&
         !mpi_has(MpiDefect::persistent_datatypes);
}

bool is_wrong_by_mpi(const CollectiveCall& call) {
  const bool in_place = call.sendbuf == MPI_IN_PLACE;
  return (call.collective == algos::Collective::neighbor_alltoallw ||
          (in_place && call.collective == algos::Collective::alltoallw) ||
          (in_place && call.collective == algos::Collective::reduce && call.root != 0)) &&
         mpi_has(MpiDefect::wrong_calls);
}

MpiRequest::~MpiRequest() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (by_persistent_ && finalized == 0) {
    PMPI_Request_free(&request_);
  }
}

void MpiRequest::init(CommLease own) {
  own_ = std::move(own);
  const int code = init_mpi(kept_.call(), own_->comm, &request_, arrays_);
  if (code == MPI_ERR_UNSUPPORTED_OPERATION) {
    return;
  }
  check_mpi(code, what);
  by_persistent_ = persistent_is_right(kept_.call().collective);
  if (!by_persistent_) { // it was to check the arguments
    PMPI_Request_free(&request_);
  }
}

void MpiRequest::start() {
  check_mpi(by_persistent_ ? PMPI_Start(&request_) : start_mpi(kept_.call(), own_->comm, &request_, arrays_), what);
  done_ = false;
  code_ = MPI_SUCCESS;
}

bool MpiRequest::done() {
  if (!done_) {
    int flag = 0;
    code_ = PMPI_Test(&request_, &flag, MPI_STATUS_IGNORE);
    done_ = flag != 0 || code_ != MPI_SUCCESS;
  }
  return done_;
}

void MpiRequest::finish() { check_mpi(code_, what); }

} // namespace stoker::engine
