// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of MPI's predefined operators, by machine representation. No MPI: helpers combine operands of ranks
// whose handles they do not know.
#pragma once

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

// Logicals are integers of their size: any value but 0 is true, and 1 is the result, which is .TRUE. for gfortran.
enum class ReduceType : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  long_float, // long double
  complex_float32,
  complex_float64,
  complex_long_float,
  // A value and its location, as a C struct has them.
  float32_int,
  float64_int,
  long_float_int,
  long_int,
  short_int,
  int_int,
  float32_float32,
  float64_float64,
  // These have two bytes. MPI has no datatypes for them.
  float16,
  bfloat16,
};

// Trivially copyable, because it is stored in a block in shared memory.
struct OperationCode {
  ReduceOp op = ReduceOp::none;
  ReduceType type{};
  bool operator==(const OperationCode&) const = default;
};

// The size of one element in memory, padding between value and location included.
[[nodiscard]] std::uint64_t size_of(ReduceType type);

// Whether there is arithmetic for it; what MPI allows is less.
[[nodiscard]] bool combinable(OperationCode code);

// target[i] = left[i] (op) right[i] for whole elements, which may lie at any address. The target is apart from an
// operand or exactly that operand. `code` is combinable. Padding in the target is not written.
void combine(OperationCode code, std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t bytes);

} // namespace stoker::engine
