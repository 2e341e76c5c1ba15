// SPDX-License-Identifier: BSD-3-Clause
// A persistent collective that the MPI library carries out, with copies of the arguments: by its own persistent call if
// it has one that is right, else by a nonblocking call at each start.
#pragma once

#include "api/pmpi/operators.hpp"
#include "api/pmpi/private_comms.hpp"
#include "api/pmpi/request.hpp"
#include "engine/data/kept_call.hpp"
#include "engine/data/mpi_collectives.hpp"

namespace stoker::pmpi {

using engine::CollectiveCall;

class ByMpi final : public Request {
public:
  // Local. Throws engine::Error.
  explicit ByMpi(const CollectiveCall& call)
      : Request(call.comm), kept_(call, peers_of(call, call.comm), engine::KeptCall::Arrays::copied), op_(call.op) {}
  ByMpi(const ByMpi&) = delete;
  ByMpi& operator=(const ByMpi&) = delete;
  ~ByMpi() override;
  // Collective over the lease's communicator; before it is started. Throws engine::Error.
  void init(CommLease own);
  // To be called if init() has failed on some rank: the calls of others may have begun.
  void spoil() {
    if (own_.given()) {
      own_->spoiled = true;
    }
  }
  [[nodiscard]] PrivateComm& own() const { return *own_; }

  [[nodiscard]] bool persistent() const override { return true; }
  [[nodiscard]] bool active() const override { return active_; }
  void start() override;
  [[nodiscard]] bool done() override;
  void wait() override;
  void finish() override;

private:
  engine::KeptCall kept_;
  OperatorUse op_;
  engine::NarrowArrays arrays_;
  CommLease own_;
  MPI_Request request_ = MPI_REQUEST_NULL; // the library's persistent one, or that of the call under way
  bool by_persistent_ = false;
  bool active_ = false;
  bool done_ = false; // of the active call
  int code_ = MPI_SUCCESS;
};

// Whether the MPI library's own persistent requests can be given to the application: MPICH 4.0's and Open MPI 4's
// cannot.
[[nodiscard]] bool own_requests_can_be_given();
// Whether the MPI library is known to carry out such a call wrongly, in whatever form.
[[nodiscard]] bool is_wrong_by_mpi(const CollectiveCall& call);

} // namespace stoker::pmpi
