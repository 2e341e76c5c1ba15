// SPDX-License-Identifier: BSD-3-Clause
#include "engine/data/kept_call.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/named_type.hpp"

#include <algorithm>

namespace stoker::engine {
namespace {

// Whether the type is none, or one of MPI's own.
bool needs_no_keeping(MPI_Datatype type) {
  return type == MPI_DATATYPE_NULL /* of a block without elements */ || is_named(type);
}

} // namespace

KeptTypes::KeptTypes(const MPI_Datatype*& types, std::size_t count, bool single, bool significant,
                     std::size_t neighbors) {
  if (types == nullptr) {
    return;
  }
  const auto keep = [&](MPI_Datatype& kept, MPI_Datatype given) {
    kept = given;
    if (significant && !needs_no_keeping(given)) {
      check_mpi(PMPI_Type_dup(given, &kept), "MPI_Type_dup");
      duplicates_.emplace_back(kept);
    }
  };
  if (single) {
    keep(type_, *types);
    types = &type_;
  } else {
    types_.reserve(1); // where there is no neighbor Open MPI still refuses null
    types_.resize(std::max(count, neighbors), MPI_BYTE);
    for (std::size_t i = 0; i < count; ++i) {
      keep(types_[i], types[i]);
    }
    types = types_.data();
  }
}

KeptCall::KeptCall(const CollectiveCall& given, const Significant& read, const Peers& peers)
    : call_(given),
      sendcounts_(call_.sendcounts, read.sendcounts, traits_of(given.collective).send.counts != algos::Number::each),
      sdispls_(call_.sdispls, read.sendcounts, false),
      recvcounts_(call_.recvcounts, read.recvcounts, traits_of(given.collective).recv.counts != algos::Number::each),
      rdispls_(call_.rdispls, read.recvcounts, false),
      sendtypes_(call_.sendtypes, read.sendtypes, !traits_of(given.collective).own_types, read.send, peers.targets),
      recvtypes_(call_.recvtypes, read.recvtypes, !traits_of(given.collective).own_types, read.recv, peers.sources) {}

} // namespace stoker::engine
