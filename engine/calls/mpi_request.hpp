// SPDX-License-Identifier: BSD-3-Clause
// A persistent collective that the MPI library carries out, with copies of the arguments: by its own persistent call if
// it has one that is right, else by a nonblocking call at each start.
#pragma once

#include "engine/calls/private_comms.hpp"
#include "engine/data/kept_call.hpp"
#include "engine/data/mpi_collectives.hpp"

namespace stoker::engine {

// Used by one thread at a time. An operator of the application's has to outlive it.
class MpiRequest {
public:
  // Local. Throws Error.
  explicit MpiRequest(const CollectiveCall& call) : kept_(call, peers_of(call, call.comm)) {}
  MpiRequest(const MpiRequest&) = delete;
  MpiRequest& operator=(const MpiRequest&) = delete;
  ~MpiRequest();
  // Collective over the lease's communicator; before it is started. Throws Error.
  void init(CommLease own);
  // To be called if init() has failed on some rank: the calls of others may have begun.
  void spoil() {
    if (own_.given()) {
      own_->spoiled = true;
    }
  }
  [[nodiscard]] PrivateComm& own() const { return *own_; }

  // Local, as all that follow. Throws Error(mpi).
  void start();
  [[nodiscard]] bool done();
  void finish(); // once it is done. Throws Error(mpi).

private:
  KeptCall kept_;
  NarrowArrays arrays_;
  CommLease own_;
  MPI_Request request_ = MPI_REQUEST_NULL; // the library's persistent one, or that of the call under way
  bool by_persistent_ = false;
  bool done_ = true;
  int code_ = MPI_SUCCESS;
};

// Whether the MPI library's own persistent requests can be given to the application (engine/base/mpi_defects.hpp).
[[nodiscard]] bool own_request_can_be_given(algos::Collective collective);
// Whether the MPI library is known to carry out such a call wrongly, in whatever form.
[[nodiscard]] bool is_wrong_by_mpi(const CollectiveCall& call);

} // namespace stoker::engine
