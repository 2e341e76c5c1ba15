// SPDX-License-Identifier: BSD-3-Clause
// An operator of the application, and the datatype that it is called with, in the process that created the operator.
#pragma once

#include "engine/base/owned_handle.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stoker::engine {

// Programs see elements as cells of element_bytes(), one behind the other. Elements of MPI's own types, and those that
// have neither gaps nor another order in memory, are cells where they lie. All others are copied to cells, where the
// application's function finds the data as in its own memory: with the same distances, and as well aligned if the cells
// begin at a multiple of 16 bytes. Gaps hold anything.
//
// Used by one thread at a time: it has memory for what it copies. MPI counts no references to operators that we could
// take:
// the application must keep its operator as long as the request.
class UserOperator {
public:
  // Throws Error(argument) for what MPI refuses, Error(unsupported) for negative extents and elements of 2 GiB or more.
  UserOperator(MPI_Op op, MPI_Datatype type);
  UserOperator(const UserOperator&) = delete;
  UserOperator& operator=(const UserOperator&) = delete;
  ~UserOperator() = default;

  [[nodiscard]] bool commutative() const { return commutative_; }
  [[nodiscard]] std::uint64_t element_bytes() const { return element_bytes_; }
  [[nodiscard]] bool cells() const { return cells_; }

  // Between `count` elements at the application's `buffer`, whose gaps are not written, and cells. Throw Error(mpi).
  void to_cells(const std::byte* buffer, std::uint64_t count, std::byte* cells);
  void from_cells(const std::byte* cells, std::uint64_t count, std::byte* buffer);

  // target = left op right for whole cells; the target is apart from an operand or exactly that operand. Throws
  // Error(mpi).
  void combine(std::byte* target, const std::byte* left, const std::byte* right, std::uint64_t bytes);

private:
  void lay_out(MPI_Datatype type);
  template <class Part>
  void in_parts(std::uint64_t count, Part part) const;
  void copy(const std::byte* from, std::byte* to, int count);
  void call(const std::byte* in, std::byte* inout, int count) const;

  MPI_Op op_;
  MPI_Datatype type_;
  OwnedType duplicate_; // `type_`, unless that is one of MPI's own
  bool commutative_ = true;
  bool cells_ = false;
  std::uint64_t size_ = 0;             // of an element's data
  std::int64_t extent_ = 0;            // in the application's memory
  std::uint64_t element_bytes_ = 1;    // of a cell
  std::int64_t origin_ = 0;            // from a cell to the address that MPI is told
  std::uint64_t elements_at_once_ = 1; // 1 where the cells are further apart than the extent says
  std::vector<std::byte> scratch_;     // for so many elements
};

} // namespace stoker::engine
