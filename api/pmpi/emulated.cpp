// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/emulated.hpp"

#include "api/pmpi/library.hpp"
#include "api/pmpi/polling.hpp"
#include "engine/agreement.hpp"

namespace stoker::pmpi {

using engine::check_mpi;

KeptCall::KeptCall(const CollectiveCall& given, const Significant& read)
    : call_(given), send_counts_(given.sendcounts, read.counts.send), send_displs_(given.sdispls, read.counts.send),
      recv_counts_(given.recvcounts, read.counts.recv), recv_displs_(given.rdispls, read.counts.recv),
      send_types_(given.sendtypes, types_of(given.family, read.counts.send), read.send),
      recv_types_(given.recvtypes, types_of(given.family, read.counts.recv), read.recv), op_(given.op) {
  send_counts_.put_into(call_.sendcounts);
  send_displs_.put_into(call_.sdispls);
  recv_counts_.put_into(call_.recvcounts);
  recv_displs_.put_into(call_.rdispls);
  call_.sendtypes = send_types_.data();
  call_.recvtypes = recv_types_.data();
}

void Emulated::start() {
  check_mpi(start_mpi(kept_.call(), own_->comm, &request_, arrays_), "the nonblocking collective of a persistent one");
  active_ = true;
  code_ = MPI_SUCCESS;
}

bool Emulated::done() {
  if (request_ == MPI_REQUEST_NULL || code_ != MPI_SUCCESS) {
    return true;
  }
  int flag = 0;
  code_ = real().MPI_Test(&request_, &flag, MPI_STATUS_IGNORE);
  return request_ == MPI_REQUEST_NULL || code_ != MPI_SUCCESS;
}

void Emulated::wait() {
  poll_until([this] { return done(); });
}

void Emulated::finish() {
  active_ = false;
  request_ = MPI_REQUEST_NULL;
  check_mpi(code_, "the nonblocking collective of a persistent one");
}

} // namespace stoker::pmpi
