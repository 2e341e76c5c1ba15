// SPDX-License-Identifier: BSD-3-Clause
// A call that is carried out after the application's function has returned, with copies of its arguments but the
// buffers. The standard asks for arrays of counts to stay until a nonblocking call is complete; but the MPI libraries
// have read them when it returns, and programs free them then.
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
  KeptNumbers(Numbers<Wide>& numbers, std::size_t count, bool single) {
    if (single) {
      keep(numbers.narrow, narrow_);
      keep(numbers.wide, wide_);
    } else {
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
  // `significant`: MPI reads them; else they may be anything. `neighbors`: the copy has as many entries at least, because
  // MPI may look at them (looks_at_neighbors()), and the application's array may have them. Throws Error.
  KeptTypes(const MPI_Datatype*& types, std::size_t count, bool single, bool significant, std::size_t neighbors);
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
  KeptCall(const CollectiveCall& given, const Peers& peers)
      : KeptCall(given, significant(given, peers), peers) {} // throws Error
  [[nodiscard]] const CollectiveCall& call() const { return call_; }

private:
  KeptCall(const CollectiveCall& given, const Significant& read, const Peers& peers);

  CollectiveCall call_; // points to what follows
  KeptNumbers<MPI_Count> sendcounts_;
  KeptNumbers<MPI_Aint> sdispls_;
  KeptNumbers<MPI_Count> recvcounts_;
  KeptNumbers<MPI_Aint> rdispls_;
  KeptTypes sendtypes_;
  KeptTypes recvtypes_;
};

} // namespace stoker::engine
