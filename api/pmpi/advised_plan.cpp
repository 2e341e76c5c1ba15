// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/advised_plan.hpp"

#include "api/pmpi/call_rules.hpp"
#include "api/pmpi/settings.hpp"
#include "engine/base/type_size.hpp"

#include <cstddef>

namespace stoker::pmpi {
namespace {

using algos::BufferTraits;
using algos::Number;
using engine::Numbers;
using reports::Plan;

AdvisedPlan left(Reason reason) { return {Plan::left, text_of(reason)}; }

AdvisedPlan taken(Form form) { return {form == Form::blocking ? Plan::with_blocking : Plan::taken}; }

// The bytes in one of the two buffers, which has so many counts and belongs to so many peers.
std::uint64_t bytes_in(const BufferTraits& buffer, bool own_types, const Numbers<MPI_Count>& counts,
                       const MPI_Datatype* types, std::size_t entries, std::size_t peers) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    MPI_Count size = 0;
    if (counts.at(i) > 0) { // else the datatype may be anything
      engine::get_size(types[own_types ? i : 0], &size);
      sum += static_cast<std::uint64_t>(counts.at(i) * size);
    }
  }
  return buffer.counts == Number::one && buffer.blocks == Number::each ? sum * peers : sum;
}

} // namespace

AdvisedPlan plan_for(Form form, const engine::CollectiveCall& call) {
  int inter = 0;
  Place place;
  PMPI_Comm_test_inter(call.comm, &inter);
  PMPI_Comm_size(call.comm, &place.ranks);
  PMPI_Comm_rank(call.comm, &place.rank);
  if (inter != 0) {
    return left(Reason::intercommunicator);
  }
  if (place.ranks == 1) {
    return left(Reason::one_rank);
  }
  if (const auto reason = reason_in(call, place)) {
    return left(*reason);
  }
  const auto bytes = form == Form::persistent ? std::nullopt : known_bytes(call, place);
  if (!bytes || *bytes >= settings().pmpi_least_bytes) {
    return taken(form);
  }
  return form == Form::nonblocking && may_be_small(call.collective, *bytes) ? AdvisedPlan{Plan::if_overlapped}
                                                                            : left(Reason::too_small);
}

AdvisedPlan plan_for_message(std::uint64_t bytes) {
  return bytes >= settings().pmpi_p2p_least_bytes
             ? AdvisedPlan{Plan::with_p2p}
             : AdvisedPlan{Plan::left, "message shorter than STOKER_PMPI_P2P_LEAST_BYTES"};
}

std::uint64_t bytes_of(const engine::CollectiveCall& call) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  const engine::Peers peers = peers_of(call, call.comm);
  const engine::Significant read = significant(call, peers);
  const bool neighborhood = traits.pattern == algos::Pattern::neighborhood;
  const std::uint64_t sent = read.send ? bytes_in(traits.send, traits.own_types, call.sendcounts, call.sendtypes,
                                                  read.sendcounts, neighborhood ? peers.targets : peers.ranks)
                                       : 0;
  if (sent != 0) {
    return sent;
  }
  return read.recv || traits.combines ? bytes_in(traits.recv, traits.own_types, call.recvcounts, call.recvtypes,
                                                 read.recvcounts, neighborhood ? peers.sources : peers.ranks)
                                      : 0;
}

} // namespace stoker::pmpi
