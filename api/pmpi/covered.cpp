// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/covered.hpp"

#include "api/pmpi/call_rules.hpp"
#include "api/pmpi/collectives.hpp"
#include "api/pmpi/settings.hpp"
#include "api/pmpi/statistics.hpp"
#include "engine/base/agreement.hpp"

#include <cstddef>
#include <cstdint>

namespace stoker::pmpi {
namespace {

Place place_in(const Communicator& communicator) { return {.ranks = communicator.size(), .rank = communicator.rank()}; }

// Whether no rank gets what it needs before all have come.
bool waits_for_all(const CollectiveCall& call, const Communicator& communicator) {
  switch (call.collective) {
  case Collective::barrier:
    return true;
  case Collective::allreduce:
  case Collective::allgather:
  case Collective::alltoall:
  case Collective::reduce_scatter_block:
    return !is_mistake(call, place_in(communicator)) && known_bytes(call, place_in(communicator)) != 0;
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
  if (form == Form::nonblocking && lacks_helpers() && !communicator.info().names_how()) {
    return Reason::no_helpers;
  }
  return communicator.off() ? Reason::off_by_info : reason_in(call, place_in(communicator));
}

// Whether it may become the engine's although it is short.
bool may_be_overlapped(const CollectiveCall& call, std::uint64_t bytes, const Communicator& communicator) {
  return may_be_small(call.collective, bytes) &&
         communicator.calls(call.collective)->takes_small_calls(communicator.executor());
}

} // namespace

bool lacks_helpers() {
  return !the_engine()->has_helpers() && the_engine()->settings().executor != engine::ExecutorChoice::inline_;
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
  const auto bytes = known_bytes(call, place_in(*communicator));
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
  pmpi::record({path_, communicator_.number_of_name(), call.collective, form}, finished);
}

} // namespace stoker::pmpi
