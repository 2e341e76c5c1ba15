// SPDX-License-Identifier: BSD-3-Clause
// Operators of the application that this library's requests still need: MPI lets an application free its operator as
// soon as the call that was given it has returned, and offers no way to duplicate one. So MPI_Op_free takes effect once
// the last request that needs the operator is gone.
#pragma once

#include <mpi.h>

#include <utility>

namespace stoker::pmpi {

// An operator of MPI's, or none.
[[nodiscard]] bool is_predefined(MPI_Op op);

// Keeps an operator alive as long as it exists. Predefined ones cost nothing.
class OperatorUse {
public:
  OperatorUse() = default;
  explicit OperatorUse(MPI_Op op);
  OperatorUse(OperatorUse&& other) noexcept : op_(std::exchange(other.op_, MPI_OP_NULL)) {}
  OperatorUse& operator=(OperatorUse&& other) noexcept {
    std::swap(op_, other.op_);
    return *this;
  }
  ~OperatorUse();

private:
  MPI_Op op_ = MPI_OP_NULL;
};

} // namespace stoker::pmpi
