// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/base/agreement.hpp"
#include "engine/data/collective_call.hpp"

#include <mpi.h>

#include <array>
#include <cstddef>
#include <vector>

namespace stoker::pmpi {

// A call without MPI_BOTTOM, which the engine takes for a mistake: the address of such a buffer is where its datatype
// has its data.
class AnchoredCall {
public:
  // Throws engine::Error.
  AnchoredCall(const engine::CollectiveCall& given, bool at_root, engine::MemoryKinds memory) : call_(given) {
    call_.memory = memory;
    const algos::CollectiveTraits& traits = traits_of(given.collective);
    // Reductions of data at MPI_BOTTOM would need a user-defined operator for such types; the engine refuses them.
    if (traits.combines) {
      return;
    }
    if (traits.own_types) {
      if (given.sendbuf == MPI_BOTTOM || given.recvbuf == MPI_BOTTOM) {
        anchor_each();
      }
      return;
    }
    if (given.sendbuf == MPI_BOTTOM && (at_root || !traits.send.root_only)) {
      call_.sendbuf = anchor(call_.sendtypes, 1, types_[0]);
    }
    if (given.recvbuf == MPI_BOTTOM && (at_root || !traits.recv.root_only)) {
      call_.recvbuf = anchor(call_.recvtypes, 1, types_[1]);
    }
  }
  AnchoredCall(const AnchoredCall&) = delete;
  AnchoredCall& operator=(const AnchoredCall&) = delete;
  ~AnchoredCall() {
    for (std::vector<MPI_Datatype>& types : types_) {
      for (MPI_Datatype& type : types) {
        if (type != MPI_DATATYPE_NULL) {
          PMPI_Type_free(&type);
        }
      }
    }
  }
  // As long as this exists.
  [[nodiscard]] const engine::CollectiveCall& call() const { return call_; }

private:
  static MPI_Aint begin_of(MPI_Datatype type) {
    MPI_Aint begin = 0;
    MPI_Aint extent = 0;
    if (type != MPI_DATATYPE_NULL) {
      engine::check_mpi(PMPI_Type_get_true_extent(type, &begin, &extent), "MPI_Type_get_true_extent");
    }
    return begin;
  }

  void* anchor(const MPI_Datatype*& types, std::size_t count, std::vector<MPI_Datatype>& anchored) {
    MPI_Aint begin = 0; // of any of them
    for (std::size_t i = 0; types != nullptr && i < count && begin == 0; ++i) {
      begin = begin_of(types[i]);
    }
    if (begin == 0) {
      return MPI_BOTTOM;
    }
    const int one = 1;
    const MPI_Aint back = -begin;
    anchored.assign(count, MPI_DATATYPE_NULL);
    for (std::size_t i = 0; i < count; ++i) {
      if (types[i] != MPI_DATATYPE_NULL) {
        engine::check_mpi(PMPI_Type_create_hindexed(1, &one, &back, types[i], &anchored[i]),
                          "MPI_Type_create_hindexed");
        PMPI_Type_commit(&anchored[i]);
      }
    }
    types = anchored.data();
    return reinterpret_cast<void*>(begin); // NOLINT(performance-no-int-to-ptr): MPI says it is one
  }

  // Displacements are in bytes, so that one address does for all blocks.
  void anchor_each() {
    const engine::Significant read = engine::significant(call_, engine::peers_of(call_, call_.comm));
    if (call_.sendbuf == MPI_BOTTOM) {
      call_.sendbuf = anchor(call_.sendtypes, read.sendtypes, types_[0]);
    }
    if (call_.recvbuf == MPI_BOTTOM) {
      call_.recvbuf = anchor(call_.recvtypes, read.recvtypes, types_[1]);
    }
  }

  engine::CollectiveCall call_;
  std::array<std::vector<MPI_Datatype>, 2> types_;
};

} // namespace stoker::pmpi
