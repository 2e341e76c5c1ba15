// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/init.hpp"

#include "engine/base/clock.hpp"
#include "engine/requests/device_reach.hpp"
#include "engine/requests/distributed_vector.hpp"
#include "engine/requests/exchange.hpp"
#include "engine/requests/neighborhood.hpp"

#include <utility>

namespace stoker::engine {

namespace {

std::unique_ptr<Request> init(const std::shared_ptr<Engine>& engine, const CollectiveCall& call, MPI_Info info,
                              RequestPlan plan, std::uint64_t begin) {
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
  engine->sweep();
  RequestPlan plan;
  plan.context = engine->context(call.comm);
  try {
    return init(engine, call, info, plan, begin);
  } catch (const KernelUnfit& unfit) {
    engine->log().info("rank {}: buffers on the device are copied: {}", plan.context->rank(), unfit.what());
  }
  plan.without_kernel = true;
  return init(engine, call, info, std::move(plan), begin);
}

} // namespace stoker::engine
