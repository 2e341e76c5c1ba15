// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/base/agreement.hpp"

#include <mpi.h>

namespace stoker::pmpi {

// The address of a buffer that may be MPI_BOTTOM, with a type whose data lies elsewhere: the engine takes null for a mistake.
class Anchored {
public:
  // Of no types: a call that has no such buffer.
  Anchored(const void* buffer, const MPI_Datatype* types, bool look)
      : address_(const_cast<void*>(buffer)), type_(types == nullptr ? MPI_DATATYPE_NULL : types[0]) {
    if (buffer != MPI_BOTTOM || type_ == MPI_DATATYPE_NULL || !look) {
      return;
    }
    MPI_Aint begin = 0;
    MPI_Aint extent = 0;
    engine::check_mpi(MPI_Type_get_true_extent(type_, &begin, &extent), "MPI_Type_get_true_extent");
    if (begin != 0) {
      const int one = 1;
      const MPI_Aint back = -begin;
      engine::check_mpi(MPI_Type_create_hindexed(1, &one, &back, type_, &own_), "MPI_Type_create_hindexed");
      MPI_Type_commit(&own_);
      type_ = own_;
      address_ = reinterpret_cast<void*>(begin); // NOLINT(performance-no-int-to-ptr): MPI says it is one
    }
  }
  Anchored(const Anchored&) = delete;
  Anchored& operator=(const Anchored&) = delete;
  ~Anchored() {
    if (own_ != MPI_DATATYPE_NULL) {
      MPI_Type_free(&own_);
    }
  }
  [[nodiscard]] void* address() const { return address_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

private:
  void* address_;
  MPI_Datatype type_;
  MPI_Datatype own_ = MPI_DATATYPE_NULL;
};

} // namespace stoker::pmpi
