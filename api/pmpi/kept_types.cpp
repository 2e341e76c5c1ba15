// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/kept_types.hpp"

#include "api/pmpi/mpi_calls.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/named_type.hpp"

namespace stoker::pmpi {

using engine::check_mpi;

Significant significant(const CollectiveCall& call) {
  const Peers peers = peers_of(call, call.comm);
  Significant result{.counts = counts_of(call.family, peers)};
  const bool gathers = call.family == Family::gather || call.family == Family::gatherv;
  const bool scatters = call.family == Family::scatter || call.family == Family::scatterv;
  result.send = call.sendbuf != MPI_IN_PLACE && (!scatters || peers.at_root);
  result.recv = call.recvbuf != MPI_IN_PLACE && (!gathers || peers.at_root);
  if (call.sendbuf == MPI_IN_PLACE && (call.family == Family::alltoallv || call.family == Family::alltoallw)) {
    result.counts.send = 0;
  }
  return result;
}

std::size_t types_of(Family family, std::size_t counts) {
  const bool one_each = family == Family::alltoallw || family == Family::neighbor_alltoallw;
  return one_each ? counts : 1;
}

bool needs_no_keeping(MPI_Datatype type) {
  return type == MPI_DATATYPE_NULL /* of a block without elements */ || engine::is_named(type);
}

KeptTypes::KeptTypes(const MPI_Datatype* types, std::size_t count, bool significant) : given_(types != nullptr) {
  types_.reserve(1); // where there is no neighbor Open MPI still refuses null
  for (std::size_t i = 0; types != nullptr && i < count; ++i) {
    types_.push_back(types[i]);
    if (significant && !needs_no_keeping(types[i])) {
      check_mpi(MPI_Type_dup(types[i], &types_[i]), "MPI_Type_dup");
      duplicates_.push_back(types_[i]);
    }
  }
}

KeptTypes::~KeptTypes() {
  if (duplicates_.empty()) {
    return;
  }
  int finalized = 0;
  MPI_Finalized(&finalized);
  for (MPI_Datatype& type : duplicates_) {
    if (finalized == 0) {
      MPI_Type_free(&type);
    }
  }
}

} // namespace stoker::pmpi
