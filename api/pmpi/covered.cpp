// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/covered.hpp"

#include "api/pmpi/collectives.hpp"
#include "api/pmpi/operators.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/statistics.hpp"
#include "engine/base/agreement.hpp"

#include <cstddef>
#include <cstdint>

namespace stoker::pmpi {
namespace {

using algos::Number;
using engine::Numbers;

// The bytes of all blocks, if every rank knows that; the same on all ranks.
std::optional<std::uint64_t> known_bytes(const CollectiveCall& call, const Communicator& communicator) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  if (traits.sizes != algos::SizesKnownTo::all) {
    return std::nullopt;
  }
  const bool at_root = communicator.rank() == call.root;
  const bool by_send = at_root ? traits.send.root_only : traits.recv.root_only;
  const Number form = (by_send ? traits.send : traits.recv).counts;
  if (form == Number::none) {
    return 0; // a barrier
  }
  const Numbers<MPI_Count>& counts = by_send ? call.sendcounts : call.recvcounts;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  MPI_Count sum = 0;
  for (std::size_t b = 0; b < (form == Number::each ? ranks : 1); ++b) {
    sum += counts.at(b);
  }
  MPI_Count size = 0;
  engine::check_mpi(PMPI_Type_size_x(by_send ? *call.sendtypes : *call.recvtypes, &size), "MPI_Type_size_x");
  const std::size_t blocks = form == Number::one && algos::has_blocks(call.collective) ? ranks : 1;
  return static_cast<std::uint64_t>(sum * size) * blocks;
}

// Whether MPI_IN_PLACE is given for a buffer that has no such form.
bool is_misplaced(const CollectiveCall& call, bool at_root) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  const bool scatters = traits.send.root_only;
  const bool sends = at_root || !traits.send.root_only;
  const bool receives = at_root || !traits.recv.root_only;
  const bool own = at_root || !traits.has_root; // this rank keeps its part
  const bool may_send = own && !scatters && traits.pattern != algos::Pattern::neighborhood;
  const bool may_receive = own && scatters;
  return (call.sendbuf == MPI_IN_PLACE && sends && !may_send) ||
         (call.recvbuf == MPI_IN_PLACE && receives && !may_receive);
}

// Whether MPI will refuse the call on this rank, before it communicates. Its errors are those that the application
// expects.
bool is_mistake(const CollectiveCall& call, const Communicator& communicator) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  const bool at_root = communicator.rank() == call.root;
  if ((traits.has_root && (call.root < 0 || call.root >= communicator.size())) ||
      (traits.combines && call.op == MPI_OP_NULL) || is_misplaced(call, at_root)) {
    return true;
  }
  const auto is_wrong = [&](const Numbers<MPI_Count>& numbers, std::size_t count, const MPI_Datatype* types) {
    for (std::size_t i = 0; numbers.given() && i < count; ++i) {
      if (numbers.at(i) < 0 || (traits.own_types && types != nullptr && types[i] == MPI_DATATYPE_NULL)) {
        return true;
      }
    }
    return !traits.own_types && types != nullptr && *types == MPI_DATATYPE_NULL;
  };
  const engine::Significant read =
      significant(call, {.ranks = static_cast<std::size_t>(communicator.size()), .at_root = at_root});
  return (read.send && is_wrong(call.sendcounts, read.sendcounts, call.sendtypes)) ||
         (read.recv && is_wrong(call.recvcounts, read.recvcounts, call.recvtypes));
}

// Whether no rank gets what it needs before all have come.
bool waits_for_all(const CollectiveCall& call, const Communicator& communicator) {
  switch (call.collective) {
  case Collective::barrier:
    return true;
  case Collective::allreduce:
  case Collective::allgather:
  case Collective::alltoall:
  case Collective::reduce_scatter_block:
    return !is_mistake(call, communicator) && known_bytes(call, communicator) != 0;
  default:
    return false;
  }
}

std::optional<Reason> reason_against(Form form, const CollectiveCall& call, const Communicator& communicator) {
  const engine::Calls* const calls = communicator.calls(call.collective);
  if (calls == nullptr) {
    return communicator.reason(call.collective);
  }
  if (form == Form::nonblocking && !calls->starts_locally()) {
    return Reason::thread_level;
  }
  if (is_mistake(call, communicator)) {
    return Reason::mistake;
  }
  if (communicator.off()) {
    return Reason::off_by_info;
  }
  if (combines(call.collective) && !is_predefined(call.op)) {
    return Reason::operation;
  }
  if (is_combined_by_mpi(call)) {
    return Reason::operator_on_type;
  }
  if (call.sendbuf == MPI_IN_PLACE && traits_of(call.collective).sizes == algos::SizesKnownTo::nobody) {
    return Reason::in_place;
  }
  return std::nullopt;
}

// Whether it may become the engine's although it is short. Vectors' sizes would take as long to compare as the call.
bool may_be_overlapped(const CollectiveCall& call, std::uint64_t bytes, const Communicator& communicator) {
  const algos::CollectiveTraits& traits = traits_of(call.collective);
  return traits.send.counts != Number::each && traits.recv.counts != Number::each &&
         (bytes > 0 || call.collective == Collective::barrier) &&
         communicator.calls(call.collective)->takes_small_calls(communicator.executor());
}

} // namespace

bool is_combined_by_mpi(const CollectiveCall& call) {
  return combines(call.collective) && is_predefined(call.op) && !engine::combines_elements(call.op, *call.recvtypes);
}

Covering covering(Form form, const CollectiveCall& call) {
  const auto left_to_mpi = [&](Reason reason) {
    count_fallback(form, call.collective, reason);
    return Covering{};
  };
  if (depth > 0) {
    return left_to_mpi(Reason::nested);
  }
  Communicator* const communicator = communicator_of(call.comm);
  if (communicator == nullptr) {
    return left_to_mpi(Reason::unwatched);
  }
  if (const auto reason = reason_against(form, call, *communicator)) {
    return left_to_mpi(*reason);
  }
  const auto bytes = known_bytes(call, *communicator);
  if (!bytes || *bytes >= settings().pmpi_least_bytes) {
    return {communicator};
  }
  return form == Form::nonblocking && may_be_overlapped(call, *bytes, *communicator) ? Covering{communicator, bytes}
                                                                                     : left_to_mpi(Reason::too_small);
}

void note_use(const CollectiveCall& call) {
  Communicator* const communicator = depth == 0 ? communicator_of(call.comm) : nullptr;
  bool used = false;
  if (communicator != nullptr && communicator->waits_for_use() &&
      !engine::attempt([&] { used = waits_for_all(call, *communicator); }) && used) {
    communicator->note_use();
  }
}

std::unique_ptr<engine::CallUnderWay> CoveredCall::start(engine::Executor executor, bool blocking, bool small) const {
  const CollectiveCall& given = anchored_.call();
  auto call =
      communicator_.calls(given.collective)->start(given, communicator_.info().get(), executor, blocking, small);
  if (call == nullptr) {
    throw engine::Error(engine::Code::unsupported, "no request is to be had for the call");
  }
  return call;
}

void CoveredCall::record(Form form, const engine::CallUnderWay& finished) const {
  const CollectiveCall& call = anchored_.call();
  pmpi::record({path_, communicator_.id(), call.collective, form}, finished);
}

} // namespace stoker::pmpi
