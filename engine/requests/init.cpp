// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/init.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/requests/choices.hpp"
#include "engine/requests/device_reach.hpp"
#include "engine/requests/distributed_vector.hpp"
#include "engine/requests/exchange.hpp"
#include "engine/requests/neighborhood.hpp"

#include <spdlog/logger.h>

#include <utility>

namespace stoker::engine {

namespace {

std::unique_ptr<Request> init(const std::shared_ptr<Engine>& engine, const CollectiveCall& call, MPI_Info info,
                              bool without_kernel, std::uint64_t begin) {
  RequestPlan plan;
  plan.context = engine->context(call.comm);
  plan.without_kernel = without_kernel;
  switch (pattern_of(call.collective)) {
  case algos::Pattern::exchange:
    return init_exchange(engine, call, info, std::move(plan), begin);
  case algos::Pattern::neighborhood:
    return init_neighborhood(engine, call, info, std::move(plan), begin);
  case algos::Pattern::distributed_vector:
    break;
  }
  return init_distributed_vector(engine, call, info, std::move(plan), begin);
}

} // namespace

std::unique_ptr<Request> init(const std::shared_ptr<Engine>& engine, const CollectiveCall& call, MPI_Info info) {
  const std::uint64_t begin = now_ns();
  Plea plea; // ranks that are not here yet may wait for what this one has started
  engine->plead(plea);
  engine->sweep();
  CollectiveCall given = call;
  // An info object that cannot be read is refused later, on all ranks.
  (void)attempt([&] { given.memory = asserted_kinds(info, call.memory); });
  try {
    return init(engine, given, info, false, begin);
  } catch (const KernelUnfit& unfit) {
    engine->log().info("buffers on the device are copied: {}", unfit.what());
  }
  return init(engine, given, info, true, begin);
}

} // namespace stoker::engine
