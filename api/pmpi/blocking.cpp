// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/collectives.hpp"
#include "api/pmpi/covered.hpp"
#include "api/pmpi/errors.hpp"
#include "api/pmpi/statistics.hpp"

#include <new>

namespace stoker::pmpi {

std::optional<int> blocking_call(const CollectiveCall& call) {
  try {
    Communicator* const communicator = covering(Form::blocking, call);
    if (communicator == nullptr) {
      return std::nullopt;
    }
    CallArguments arguments(call, *communicator);
    // This thread has nothing else to do: whom a helper would call is already here.
    const auto under_way = arguments.start(engine::Executor::inline_);
    under_way->wait();
    under_way->finish();
    const auto report = under_way->report();
    record({.site = call.site,
            .communicator = communicator->id(),
            .family = call.family,
            .form = Form::blocking,
            .bytes = arguments.bytes(),
            .by_mpi = report.by_mpi,
            .exchange_seconds = report.exchange_seconds,
            .exposed_seconds = report.exposed_seconds,
            .algorithm = report.algorithm});
    return MPI_SUCCESS;
  } catch (const engine::Error& error) {
    if (error.code() == engine::Code::unsupported) { // on all ranks alike
      count_fallback(Form::blocking, call.family, Reason::unsupported);
      return std::nullopt;
    }
    return report_error(call.comm, error);
  } catch (const std::bad_alloc&) {
    return report_error(call.comm, engine::Error(engine::Code::resource, "out of memory"));
  }
}

} // namespace stoker::pmpi
