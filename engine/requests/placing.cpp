// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/placing.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/round_up.hpp"
#include "engine/execute/eager_bytes.hpp"
#include "engine/execute/lower.hpp"
#include "engine/requests/baseline.hpp"
#include "engine/requests/device_epochs.hpp"
#include "engine/requests/reach.hpp"

#include <spdlog/logger.h>

#include <algorithm>
#include <utility>

namespace stoker::engine {
namespace {

BufferDescriptor describe(NodeMemory& memory, const UserBuffer& buffer, Path path, bool direct_too,
                          std::uint64_t& staging) {
  BufferDescriptor descriptor{.path = path};
  if (buffer.bytes() == 0) {
    descriptor.path = Path::own;
    return descriptor;
  }
  if (path == Path::staged) {
    const bool on_device = buffer.residence() == Residence::device; // pages of its own, which can be pinned
    const std::uint64_t unit = on_device ? page_size() : cache_line;
    staging = memory.arena().allocate(round_up(buffer.packed_bytes(), unit), unit);
    descriptor.offset = staging;
    if (!direct_too) {
      return descriptor;
    }
  }
  std::byte* const lowest = buffer.address() + buffer.lower();
  descriptor.address = reinterpret_cast<std::uint64_t>(lowest);
  descriptor.bytes = static_cast<std::uint64_t>(buffer.upper() - buffer.lower());
  if (path == Path::mapped) {
    descriptor.offset = memory.arena().offset_of(lowest);
  }
  return descriptor;
}

CarrierView carrier_view(const Engine& engine, const CommContext& context) {
  return {context.rank_of(engine.carrier()), engine.helper(), engine.memory().get()};
}

// The window over the receive buffer or its staging, or over the program's scratch. Collective.
std::shared_ptr<const PutWindow> window_for_puts(Engine& engine, const RequestPlan& plan) {
  void* base = nullptr;
  std::uint64_t bytes = 0;
  if (plan.choice.algorithm->puts_into == algos::Buffer::scratch) {
    base = plan.scratch == 0 ? nullptr : engine.memory()->arena().base() + plan.scratch;
    bytes = plan.scratch_bytes;
  } else if (plan.recv_staging != 0) {
    base = engine.memory()->arena().base() + plan.recv_staging;
    bytes = plan.recv.packed_bytes();
  } else if (plan.recv.bytes() > 0) {
    base = plan.recv.address() + plan.recv.lower();
    bytes = static_cast<std::uint64_t>(plan.recv.upper() - plan.recv.lower());
  }
  PutWindows& windows = engine.put_windows();
  return plan.executor == Executor::engine
             ? windows.carried(plan.context, carrier_view(engine, *plan.context), base, bytes)
             : windows.own(plan.context, base, bytes);
}

RankMap rank_map(Engine& engine, const CommContext& context, Executor executor) {
  RankMap map;
  for (int r = 0; r < context.ranks(); ++r) {
    const int rank = context.engine_rank(r);
    map.node_of.push_back(engine.layout().node_of(rank));
    map.arena_of.push_back(engine.layout().same_node(rank, engine.rank()) ? static_cast<int>(engine.arena_of(rank))
                                                                          : -1);
  }
  map.endpoint = executor == Executor::engine ? engine.carrier() : engine.rank();
  map.endpoint_arena = engine.arena_of(map.endpoint);
  map.tags = &engine.tags();
  map.carrier = context.rank_of(engine.carrier());
  return map;
}

// What goes from one rank to another, on average.
std::uint64_t typical_bytes(const RequestPlan& plan) {
  const std::uint64_t all = std::max(plan.send.bytes(), plan.recv.bytes());
  const bool in_blocks = algos::has_blocks(plan.choice.algorithm->collective);
  return in_blocks ? all / static_cast<std::uint64_t>(plan.context->ranks()) : all;
}

bool puts_through_window(Engine& engine, const RequestPlan& plan) {
  const RmaChoice choice = engine.settings().rma;
  const CommContext& context = *plan.context;
  const bool helped = plan.executor == Executor::engine;
  if (plan.executor == Executor::device || !plan.choice.algorithm->puts_into || choice == RmaChoice::messages) {
    return false;
  }
  if (helped && context.layout().nodes() == 1) {
    return false; // helpers write straight into the receive buffers
  }
  const CarrierView carrier = carrier_view(engine, context);
  const bool possible = engine.put_windows().possible(plan.context, helped, carrier);
  if (!possible && choice == RmaChoice::window) {
    throw Error(Code::unsupported,
                "rma=window, but the MPI library has no one-sided communication between the ranks of comm that works "
                "here, or one of their carriers is not among them; expected rma=auto, or another transport "
                "(see stoker doctor)");
  }
  return possible && (choice == RmaChoice::window ||
                      engine.put_windows().faster(plan.context, helped, carrier, typical_bytes(plan)));
}

// What the program moves, by where the other end is.
void count_bytes(const algos::Program& program, const RankMap& map, RequestPlan& plan) {
  for (const algos::Step& step : program.steps) {
    if (step.peer < 0) {
      continue;
    }
    const bool in_node = map.arena_of[static_cast<std::size_t>(step.peer)] >= 0;
    if (algos::delivers(step.kind)) {
      (in_node ? plan.bytes_node : plan.bytes_wire) += step.bytes;
    } else {
      (in_node ? plan.bytes_from_node : plan.bytes_from_wire) += step.bytes;
    }
  }
}

void complete(PlacementOptions& options, const Engine& engine, const RequestPlan& plan) {
  options.eager_bytes =
      plan.executor == Executor::device // whose kernel fetches all
          ? 0
          : eager_bytes_of(engine, *plan.context, plan.choice.algorithm->collective, plan.vector_bytes, plan.any_sizes);
  if (algos::pattern_of(plan.choice.algorithm->collective) == algos::Pattern::distributed_vector &&
      plan.executor != Executor::device && !engine.memory()->xpmem_works()) { // else fetching is as fast
    options.piece_bytes = longest_piece(engine.settings().eager_bytes, plan.context->node_ranks().size());
  }
  options.timed = plan.executor != Executor::inline_ || engine.settings().inline_times ||
                  engine.settings().baseline_calls > 0 || engine.trace() != nullptr || plan.timed;
  options.exclusive = plan.executor != Executor::engine;
  options.resizable = plan.any_sizes;
  options.operation = plan.operation.code();
  if (plan.window != nullptr && plan.window->by_carriers) {
    options.exposed = {{*plan.choice.algorithm->puts_into, plan.window->exposed}};
    options.window_number = plan.window->number;
  }
  options.window = plan.window != nullptr && !plan.window->by_carriers;
  options.scratch = plan.scratch;
}

// A window has to be over scratch before the program can be placed.
void take_scratch(NodeMemory& memory, const algos::Program& program, RequestPlan& plan) {
  if (program.scratch_bytes > 0) {
    plan.scratch = memory.arena().allocate(program.scratch_bytes, cache_line);
    plan.scratch_bytes = program.scratch_bytes;
  }
}

// Collective: compiles and places the program, and makes it known to the peers. Returns what carries it out on a device.
std::unique_ptr<DeviceEpochs> place_program(Engine& engine, RequestPlan& plan, const Paths& paths,
                                            const std::function<CompiledProgram(const algos::Choice&)>& compile) {
  const CommContext& context = *plan.context;
  const MPI_Comm comm = context.comm();
  NodeMemory& memory = *engine.memory();
  const RankMap map = rank_map(engine, context, plan.executor);
  std::vector<PairInfo> pairs(static_cast<std::size_t>(context.ranks()));
  std::vector<PairInfo> peers(pairs.size());
  PlacementOptions options;
  algos::Program program;
  attempt_on_all(comm, [&] {
    const bool reachable = plan.executor == Executor::engine && !plan.operation.cells() && may_be_direct(engine);
    const auto direct_too = [&](const UserBuffer& buffer) { return reachable && is_packed(buffer); };
    options.send = describe(memory, plan.send, paths.send, direct_too(plan.send), plan.send_staging);
    options.recv = describe(memory, plan.recv, paths.recv, direct_too(plan.recv), plan.recv_staging);
    options.buffers_change = plan.rebindable || (options.send.path == Path::staged && options.send.address != 0) ||
                             (options.recv.path == Path::staged && options.recv.address != 0);
    CompiledProgram compiled = compile(plan.choice);
    program = std::move(compiled.program);
    plan.from_wisdom = compiled.from_wisdom;
    if (plan.through_window && plan.choice.algorithm->puts_into == algos::Buffer::scratch) {
      take_scratch(memory, program, plan);
    }
  });
  if (plan.through_window) {
    plan.window = window_for_puts(engine, plan);
    if (plan.window == nullptr && engine.settings().rma == RmaChoice::window) {
      throw Error(Code::resource,
                  "rma=window, but the MPI library refuses a window over the place of the puts on some rank");
    }
  }
  attempt_on_all(comm, [&] {
    count_bytes(program, map, plan);
    complete(options, engine, plan);
    plan.block = place(program, memory, map, options, pairs);
  });
  // Tell the peers where things are. What place() wrote happens before MPI delivers this.
  check_mpi(PMPI_Alltoall(pairs.data(), sizeof(PairInfo), MPI_BYTE, peers.data(), sizeof(PairInfo), MPI_BYTE, comm),
            "MPI_Alltoall");
  agree(comm, attempt([&] { link(plan.block, memory, map, pairs, peers); }));
  if (plan.device == nullptr) {
    return nullptr;
  }
  try {
    return std::make_unique<DeviceEpochs>(engine, plan, program);
  } catch (const Error& error) {
    if (plan.device_use == DeviceUse::required) {
      throw;
    }
    throw KernelUnfit(error);
  }
}

} // namespace

void decide_on_window(Engine& engine, RequestPlan& plan, Paths& paths) {
  plan.through_window = puts_through_window(engine, plan);
  const bool over_recv = plan.choice.algorithm->puts_into == algos::Buffer::recv;
  if (plan.through_window && over_recv && plan.executor == Executor::engine && paths.recv == Path::attached) {
    paths.recv = Path::staged; // a carrier can expose what it maps
  }
}

std::unique_ptr<Request> make_request(const std::shared_ptr<Engine>& engine, RequestPlan plan, const Paths& paths,
                                      const std::function<CompiledProgram(const algos::Choice&)>& compile,
                                      std::uint64_t begin_ns) {
  std::unique_ptr<DeviceEpochs> device;
  try {
    device = place_program(*engine, plan, paths, compile);
  } catch (...) { // nobody has started it, so nobody touches it
    if (plan.block != 0) {
      reclaim(*engine->memory(), engine->tags(), *engine->memory()->arena().at<Block>(plan.block));
    }
    for (const std::uint64_t place : {plan.send_staging, plan.recv_staging, plan.scratch}) {
      if (place != 0) {
        engine->memory()->arena().deallocate(place);
      }
    }
    throw;
  }
  plan.choice_text = algos::to_text(plan.choice);
  plan.init_seconds = 1e-9 * static_cast<double>(now_ns() - begin_ns);
  if (engine->settings().baseline_calls > 0 && !plan.rebindable &&
      algos::pattern_of(plan.choice.algorithm->collective) != algos::Pattern::distributed_vector) {
    plan.mpi_seconds = mpi_seconds(*plan.context, plan.choice.algorithm->collective, plan.send, plan.recv,
                                   plan.in_place, engine->settings().baseline_calls);
  }
  engine->log().info("rank {}: {} init: algorithm {} ({}), executor {}, {} bytes to send, program {}, {} ms",
                     plan.context->rank(), algos::name_of(plan.choice.algorithm->collective), plan.choice_text,
                     plan.chosen_by, name_of(plan.executor), plan.in_place ? plan.recv.bytes() : plan.send.bytes(),
                     plan.from_wisdom ? "from wisdom" : "compiled", 1e3 * plan.init_seconds);
  plan.send.forget_blocks();
  plan.recv.forget_blocks();
  auto request = std::make_unique<Request>(engine, std::move(plan));
  request->take_device_epochs(std::move(device));
  return request;
}

} // namespace stoker::engine
