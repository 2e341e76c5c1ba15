// SPDX-License-Identifier: BSD-3-Clause
// PLACEHOLDER: sums of doubles.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace stoker::engine {

enum class ReduceOp : std::uint8_t {
  none,
  sum,
  prod,
  max,
  min,
  land,
  band,
  lor,
  bor,
  lxor,
  bxor,
  maxloc,
  minloc,
  user
};
enum class ReduceType : std::uint8_t { int8, float64 };

struct OperationCode {
  ReduceOp op = ReduceOp::none;
  ReduceType type{};
};

<<<<<<<< HEAD:engine/global_operation.hpp
struct alignas(cache_line) GlobalOperation {
  static constexpr std::size_t inline_bytes = 128;
========
// target[i] = left[i] (op) right[i] for whole elements; target may be left or right exactly. Not for ReduceOp::user.
void combine(OperationCode code, std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t bytes);
>>>>>>>> exec:engine/operation.hpp

class Operation {
public:
  Operation() = default;
  Operation(MPI_Op op, MPI_Datatype type);
  [[nodiscard]] OperationCode code() const { return code_; }
  [[nodiscard]] std::uint64_t element_bytes() const { return element_bytes_; }
  void combine(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t bytes) const;

private:
  MPI_Op op_ = MPI_OP_NULL;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  OperationCode code_;
  std::uint64_t element_bytes_ = 1;
};

} // namespace stoker::engine
