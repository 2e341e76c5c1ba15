// SPDX-License-Identifier: BSD-3-Clause
#include "engine/operation.hpp"

#include <cstring>
#include <vector>

namespace stoker::engine {

void combine(OperationCode /*code*/, std::byte* target, const std::byte* left, const std::byte* right,
             std::uint64_t bytes) {
  auto* t = reinterpret_cast<double*>(target);
  const auto* l = reinterpret_cast<const double*>(left);
  const auto* r = reinterpret_cast<const double*>(right);
  for (std::uint64_t i = 0; i < bytes / sizeof(double); ++i) {
    t[i] = l[i] + r[i];
  }
}

Operation::Operation(MPI_Op op, MPI_Datatype type) : op_(op), type_(type) {
  int size = 0;
  MPI_Type_size(type, &size);
  element_bytes_ = static_cast<std::uint64_t>(size);
  code_ = {op == MPI_SUM ? ReduceOp::sum : ReduceOp::user, ReduceType::float64};
}

void Operation::combine(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t bytes) const {
  if (code_.op != ReduceOp::user) {
    engine::combine(code_, target, left, right, bytes);
    return;
  }
  std::vector<std::byte> result(right, right + bytes);
  MPI_Reduce_local(left, result.data(), static_cast<int>(bytes / element_bytes_), type_, op_);
  std::memcpy(target, result.data(), bytes);
}

} // namespace stoker::engine
