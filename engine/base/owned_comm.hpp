// SPDX-License-Identifier: BSD-3-Clause
// A communicator of the engine's own; errors are returned. Freeing is collective, and skipped once MPI is finalized.
#pragma once

#include <mpi.h>

#include <utility>

namespace stoker::engine {

class OwnedComm {
public:
  OwnedComm() = default;
  explicit OwnedComm(MPI_Comm comm) : comm_(comm) { MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN); }
  OwnedComm(OwnedComm&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  OwnedComm& operator=(OwnedComm&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~OwnedComm();
  // Collective. Throws Error(mpi).
  [[nodiscard]] static OwnedComm duplicate_of(MPI_Comm comm);
  operator MPI_Comm() const { return comm_; } // NOLINT(google-explicit-constructor): it is one

private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

} // namespace stoker::engine
