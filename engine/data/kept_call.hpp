// SPDX-License-Identifier: BSD-3-Clause
// A call that is carried out after the application's function has returned: single counts and datatypes are variables
// of that function, and datatypes may be freed.
#pragma once

#include "engine/base/owned_handle.hpp"
#include "engine/data/collective_call.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stoker::engine {

template <class Wide>
class KeptNumbers {
public:
  KeptNumbers(Numbers<Wide>& numbers, std::size_t count, bool single, bool arrays) {
    if (single) {
      keep(numbers.narrow, narrow_);
      keep(numbers.wide, wide_);
    } else if (arrays) {
      keep(numbers.narrow, count, narrow_array_);
      keep(numbers.wide, count, wide_array_);
    }
  }
  KeptNumbers(const KeptNumbers&) = delete;
  KeptNumbers& operator=(const KeptNumbers&) = delete;
  ~KeptNumbers() = default;

private:
  template <class Number>
  static void keep(const Number*& given, Number& kept) {
    if (given != nullptr) {
      kept = *given;
      given = &kept;
    }
  }
  template <class Number>
  static void keep(const Number*& given, std::size_t count, std::vector<Number>& kept) {
    if (given != nullptr) {
      kept.reserve(1); // where there is no neighbor Open MPI still refuses null
      kept.assign(given, given + count);
      given = kept.data();
    }
  }
  int narrow_ = 0;
  Wide wide_ = 0;
  std::vector<int> narrow_array_;
  std::vector<Wide> wide_array_;
};

// Duplicates of those that are not MPI's own.
class KeptTypes {
public:
  // `significant`: MPI reads them; else they may be anything. Throws Error.
  KeptTypes(const MPI_Datatype*& types, std::size_t count, bool single, bool arrays, bool significant);
  KeptTypes(const KeptTypes&) = delete;
  KeptTypes& operator=(const KeptTypes&) = delete;
  ~KeptTypes() = default;

private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::vector<MPI_Datatype> types_;
  std::vector<OwnedType> duplicates_;
};

class KeptCall {
public:
  // callers: arrays of counts and displacements stay in place, as those of nonblocking calls have to. Throws Error.
  enum class Arrays : std::uint8_t { callers, copied };
  KeptCall(const CollectiveCall& given, const Peers& peers, Arrays arrays);
  [[nodiscard]] const CollectiveCall& call() const { return call_; }

private:
  KeptCall(const CollectiveCall& given, const Significant& read, Arrays arrays);

  CollectiveCall call_; // points to what follows
  KeptNumbers<MPI_Count> sendcounts_;
  KeptNumbers<MPI_Aint> sdispls_;
  KeptNumbers<MPI_Count> recvcounts_;
  KeptNumbers<MPI_Aint> rdispls_;
  KeptTypes sendtypes_;
  KeptTypes recvtypes_;
};

} // namespace stoker::engine
