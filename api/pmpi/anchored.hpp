// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/base/agreement.hpp"
#include "engine/data/collective_call.hpp"

#include <mpi.h>

#include <array>
#include <cstddef>

namespace stoker::pmpi {

// A call without MPI_BOTTOM, which the engine takes for a mistake: the address of such a buffer is where its datatype
// has its data.
class AnchoredCall {
public:
  // Throws engine::Error.
  AnchoredCall(const engine::CollectiveCall& given, bool at_root) : call_(given) {
    const algos::CollectiveTraits& traits = traits_of(given.collective);
    // Reductions of data at MPI_BOTTOM would need a user-defined operator for such types; the engine refuses them.
    if (traits.combines || traits.own_types) {
      return;
    }
    if (given.sendbuf == MPI_BOTTOM && (at_root || !traits.send.root_only)) {
      call_.sendbuf = anchor(call_.sendtypes, 0);
    }
    if (given.recvbuf == MPI_BOTTOM && (at_root || !traits.recv.root_only)) {
      call_.recvbuf = anchor(call_.recvtypes, 1);
    }
  }
  AnchoredCall(const AnchoredCall&) = delete;
  AnchoredCall& operator=(const AnchoredCall&) = delete;
  ~AnchoredCall() {
    for (MPI_Datatype& type : types_) {
      if (type != MPI_DATATYPE_NULL) {
        PMPI_Type_free(&type);
      }
    }
  }
  // As long as this exists.
  [[nodiscard]] const engine::CollectiveCall& call() const { return call_; }

private:
  void* anchor(const MPI_Datatype*& type, std::size_t which) {
    MPI_Aint begin = 0;
    MPI_Aint extent = 0;
    if (type != nullptr && *type != MPI_DATATYPE_NULL) {
      engine::check_mpi(PMPI_Type_get_true_extent(*type, &begin, &extent), "MPI_Type_get_true_extent");
    }
    if (begin == 0) {
      return MPI_BOTTOM;
    }
    const int one = 1;
    const MPI_Aint back = -begin;
    engine::check_mpi(PMPI_Type_create_hindexed(1, &one, &back, *type, &types_[which]), "MPI_Type_create_hindexed");
    PMPI_Type_commit(&types_[which]);
    type = &types_[which];
    return reinterpret_cast<void*>(begin); // NOLINT(performance-no-int-to-ptr): MPI says it is one
  }

  engine::CollectiveCall call_;
  std::array<MPI_Datatype, 2> types_{MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
};

} // namespace stoker::pmpi
