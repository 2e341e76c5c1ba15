// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/mpi_request.hpp"

#include "engine/base/agreement.hpp"

#include <utility>

namespace stoker::engine {
namespace {

constexpr const char* what = "the MPI library's call of a persistent collective";

#if defined(MPICH_NUMVERSION)
constexpr bool is_mpich_4_0 = MPICH_NUMVERSION < 40100000;
constexpr bool is_open_mpi_4 = false;
#elif defined(OMPI_MAJOR_VERSION)
constexpr bool is_mpich_4_0 = false;
constexpr bool is_open_mpi_4 = OMPI_MAJOR_VERSION < 5;
#else
constexpr bool is_mpich_4_0 = false;
constexpr bool is_open_mpi_4 = false;
#endif

// MPICH 4.0: these hang or have wrong results from the second start on.
bool persistent_is_right(algos::Collective collective) {
  using algos::Collective;
  return !is_mpich_4_0 || (collective != Collective::allgather && collective != Collective::gather &&
                           collective != Collective::reduce && collective != Collective::scatter);
}

} // namespace

// MPICH 4.0: waiting for an inactive one hangs (pmodels/mpich#6334), testall and the calls for any and some do not
// complete an active one, and all ranks must start those of a communicator in the same order. Open MPI 4: datatypes may
// not be freed before the request is.
bool own_requests_can_be_given() { return !is_mpich_4_0 && !is_open_mpi_4; }

// MPICH 4.0: neighbor_alltoallw takes sources for targets, alltoallw in place is wrong for some datatypes, and reduce
// in place at a root other than 0 crashes.
bool is_wrong_by_mpi(const CollectiveCall& call) {
  const bool in_place = call.sendbuf == MPI_IN_PLACE;
  return is_mpich_4_0 && (call.collective == algos::Collective::neighbor_alltoallw ||
                          (in_place && call.collective == algos::Collective::alltoallw) ||
                          (in_place && call.collective == algos::Collective::reduce && call.root != 0));
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
