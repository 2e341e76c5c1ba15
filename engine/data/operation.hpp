// SPDX-License-Identifier: BSD-3-Clause
// The operation with which a reduction combines its operands: an operator of MPI on a datatype.
#pragma once

#include "engine/data/reduction_kernels.hpp"
#include "engine/data/user_operator.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace stoker::engine {

// The operation of one request, in its rank's own process; used by one thread at a time. For a predefined operator the
// code alone is enough for any process to combine operands.
class Operation {
public:
  Operation() = default; // for collectives that combine nothing
  // Throws Error(argument), which names the argument at fault and what was expected; also if MPI does not allow the
  // operator on the datatype. Throws Error(unsupported) for Fortran's 16-byte numbers and for what UserOperator does
  // not take. The application may free the datatype, but must keep an operator of its own as long as this object.
  Operation(MPI_Op op, MPI_Datatype type);

  [[nodiscard]] OperationCode code() const { return code_; }
  [[nodiscard]] bool user_defined() const { return user_ != nullptr; }
  [[nodiscard]] bool commutative() const { return !user_ || user_->commutative(); }
  // The size of one element as programs see it. If cells() is false, that is the datatype's extent, and elements are
  // combined where they lie, padding of pairs included. Else buffers have to be copied to cells and back: see
  // UserOperator.
  [[nodiscard]] std::uint64_t element_bytes() const { return element_bytes_; }
  [[nodiscard]] bool cells() const { return user_ && user_->cells(); }
  void to_cells(const std::byte* buffer, std::uint64_t count, std::byte* cells) const;
  void from_cells(const std::byte* cells, std::uint64_t count, std::byte* buffer) const;

  // target = left op right for whole elements; the target is apart from an operand or exactly that operand. Throws
  // Error(mpi) where an operator of the application is called.
  void combine(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t bytes) const;

private:
  OperationCode code_;
  std::uint64_t element_bytes_ = 1;
  std::unique_ptr<UserOperator> user_;
};

// Whether there is an Operation for a predefined operator on this datatype.
[[nodiscard]] bool combines_elements(MPI_Op op, MPI_Datatype type);

} // namespace stoker::engine
