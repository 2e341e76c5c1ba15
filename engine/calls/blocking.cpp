// SPDX-License-Identifier: BSD-3-Clause
#include "engine/calls/blocking.hpp"

#include "engine/base/agreement.hpp"
#include "engine/calls/calls.hpp"
#include "engine/calls/mpi_collective.hpp"
#include "engine/data/arguments.hpp"

namespace stoker::engine {

void call_blocking(const std::shared_ptr<Engine>& engine, const CollectiveCall& call) {
  const std::shared_ptr<CommContext> context = engine->context(call.comm);
  const auto calls = context->attachments().get<Calls>(engine, context);
  std::unique_ptr<CallUnderWay> under_way;
  const auto wrong = attempt([&] {
    if (traits_of(call.collective).sizes == algos::SizesKnownTo::all) {
      under_way = calls->start(call, MPI_INFO_NULL, Executor::engine, true);
    } else {
      (void)checked_buffers(call, context->rank(), context->ranks());
    }
  });
  if (wrong) {
    throw *with_rank(context->rank(), wrong);
  }
  if (under_way == nullptr) {
    return wait_for_mpi(*engine, *context, call);
  }
  under_way->wait();
  under_way->finish();
}

} // namespace stoker::engine
