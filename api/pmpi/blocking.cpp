// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/collectives.hpp"
#include "api/pmpi/covered.hpp"

namespace stoker::pmpi {

std::optional<int> blocking_call(const CollectiveCall& call) {
  return if_covered(Form::blocking, call, [&](Communicator& communicator) {
    CallArguments arguments(call, communicator);
    // This thread has nothing else to do: whom a helper would call is already here.
    const auto under_way = arguments.start(engine::Executor::inline_);
    under_way->wait();
    under_way->finish();
    arguments.record(Form::blocking, *under_way);
  });
}

} // namespace stoker::pmpi
