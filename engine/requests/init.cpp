// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/init.hpp"

#include "algos/select/cost_model.hpp"
#include "algos/select/selection.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/execute/lower.hpp"
#include "engine/requests/baseline.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include <unistd.h>

namespace stoker::engine {
namespace {

BufferDescriptor describe(NodeMemory& memory, const UserBuffer& buffer, Path path, std::uint64_t& staging) {
  BufferDescriptor descriptor{.path = path, .pid = static_cast<std::int32_t>(getpid()), .bytes = buffer.bytes()};
  if (buffer.bytes() == 0) {
    descriptor.path = Path::own;
    return descriptor;
  }
  if (path == Path::staged) {
    staging = memory.arena().allocate(buffer.packed_bytes(), cache_line);
    descriptor.offset = staging;
    return descriptor;
  }
  std::byte* const lowest = buffer.address() + buffer.lower();
  descriptor.address = reinterpret_cast<std::uint64_t>(lowest);
  if (path == Path::mapped) {
    descriptor.offset = memory.arena().offset_of(lowest);
  }
  return descriptor;
}

CarrierView carrier_view(const Engine& engine, const CommContext& context) {
  return {context.rank_of(engine.carrier()), engine.helper(), engine.memory().get()};
}

// Collective. Over the receive buffer, or where it is staged.
std::shared_ptr<const PutWindow> window_for_puts(Engine& engine, const RequestPlan& plan) {
  void* base = nullptr;
  std::uint64_t bytes = 0;
  if (plan.recv_staging != 0) {
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

RankMap rank_map(const Engine& engine, const CommContext& context, Executor executor) {
  RankMap map;
  for (const int rank : context.engine_ranks()) {
    map.arena_of.push_back(engine.layout().same_node(rank, engine.rank()) ? static_cast<int>(engine.arena_of(rank))
                                                                          : -1);
  }
  map.endpoint = executor == Executor::engine ? engine.carrier() : engine.rank();
  map.endpoint_arena = engine.arena_of(map.endpoint);
  map.highest_tag = engine.highest_tag();
  map.carrier = context.rank_of(engine.carrier());
  return map;
}

} // namespace

std::optional<Error> with_rank(const CommContext& context, const std::optional<Error>& error) {
  return error ? std::optional(Error(error->code(), "rank " + std::to_string(context.rank()) + ": " + error->what()))
               : std::nullopt;
}

std::optional<std::string> info_value(MPI_Info info, const char* key) {
  if (info == MPI_INFO_NULL) {
    return std::nullopt;
  }
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int found = 0;
  check_mpi(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &found), "MPI_Info_get");
  return found != 0 ? std::optional<std::string>(value.data()) : std::nullopt;
}

algos::Choice requested_choice(Engine& engine, algos::Collective collective, const CommContext& context,
                               MPI_Info info) {
  const topology::Layout& layout = context.layout();
  if (const std::optional<std::string> wish = info_value(info, "stoker_algorithm")) {
    try {
      return *wish == "auto" ? algos::Choice{} : algos::resolve(algos::parse_choice(collective, *wish), layout);
    } catch (const std::invalid_argument& error) {
      throw Error(Code::setting, "info key stoker_algorithm=" + *wish + ": " + error.what());
    }
  }
  const algos::Choice& setting = engine.settings().algorithms[static_cast<std::size_t>(collective)];
  if (setting.algorithm == nullptr) {
    return {};
  }
  try {
    return algos::resolve(setting, layout);
  } catch (const std::invalid_argument& error) { // a setting is for communicators of all sizes
    algos::Choice adapted = algos::resolve(setting, layout, algos::Misfit::adapt);
    if (context.rank() == 0 && engine.first_misfit(collective)) {
      engine.log().warn("setting algorithms, {}={}: {}; where it does not fit, what does is taken, here {}",
                        algos::name_of(collective), algos::to_text(setting), error.what(), algos::to_text(adapted));
    }
    return adapted;
  }
}

Executor chosen_executor(const Engine& engine, MPI_Info info) {
  const std::string wish = info_value(info, "stoker_executor").value_or("auto");
  if (wish == "inline") {
    return Executor::inline_;
  }
  if (wish == "engine" && !engine.has_helpers()) {
    throw Error(Code::unsupported, "info key stoker_executor=engine, but the engine has no helpers; see stoker info");
  }
  if (wish != "auto" && wish != "engine") {
    throw Error(Code::setting, "info key stoker_executor=" + wish + "; expected auto, engine or inline");
  }
  return engine.has_helpers() ? Executor::engine : Executor::inline_;
}

Readers readers_of(const Engine& engine, const CommContext& context, Executor executor, std::uint64_t longest_in_node,
                   bool bundles) {
  const bool shares_node = context.layout().node_ranks(context.layout().node_of(context.rank())).size() > 1;
  return {.helper = executor == Executor::engine && engine.helper() == nullptr,
          .peers = shares_node && (longest_in_node > engine.settings().eager_bytes || bundles)};
}

Path chosen_path(const Engine& engine, const UserBuffer& buffer, const Readers& readers, const char* name) {
  const NodeMemory& memory = *engine.memory();
  const bool in_arena = buffer.bytes() > 0 &&
                        engine.memory()->arena().contains(buffer.address() + buffer.lower(),
                                                          static_cast<std::uint64_t>(buffer.upper() - buffer.lower()));
  if (buffer.bytes() > 0 && !buffer.type().contiguous()) {
    return Path::staged; // it has to be packed anyway
  }
  switch (engine.settings().access) {
  case AccessChoice::own:
    if (readers.helper || readers.peers) {
      throw Error(Code::access, std::string(name) + ": access=own, but " +
                                    (readers.helper ? "the helper in another process" : "other ranks of the node") +
                                    " must reach it; expected access=auto, mapped, cma or staged");
    }
    return Path::own;
  case AccessChoice::mapped:
    if (!in_arena && buffer.bytes() > 0) {
      throw Error(Code::access, std::string(name) + ": access=mapped, but it does not lie in memory from stoker_alloc");
    }
    return in_arena ? Path::mapped : Path::own;
  case AccessChoice::cma:
    return Path::cma; // that it works was checked when the engine was created
  case AccessChoice::staged:
    return Path::staged;
  case AccessChoice::automatic:
    break;
  }
  if (in_arena) {
    return Path::mapped;
  }
  if (!readers.helper && !readers.peers) {
    return Path::own;
  }
  const bool small = readers.helper && buffer.bytes() <= engine.settings().staged_bytes;
  return small || !memory.attach_works() ? Path::staged : Path::cma;
}

Path chosen_path(const Engine& engine, const std::byte* lowest, std::uint64_t span, std::uint64_t bytes,
                 const Readers& readers) {
  const NodeMemory& memory = *engine.memory();
  const AccessChoice choice = engine.settings().access;
  const bool shared = readers.helper || readers.peers;
  if (choice == AccessChoice::staged) {
    return Path::staged;
  }
  if (choice != AccessChoice::cma && engine.memory()->arena().contains(lowest, span)) {
    return Path::mapped;
  }
  if (!shared) {
    return Path::own;
  }
  const bool small = readers.helper && bytes <= engine.settings().staged_bytes && choice != AccessChoice::cma;
  return small || choice == AccessChoice::mapped || !memory.attach_works() ? Path::staged : Path::cma;
}

std::vector<std::uint64_t> program_offsets(const UserBuffer& buffer, Path path) {
  if (path == Path::staged) {
    return buffer.packed_offsets();
  }
  std::vector<std::uint64_t> offsets(buffer.blocks().size());
  for (std::size_t r = 0; r < offsets.size(); ++r) {
    // Relative to the lowest byte in use: displacements may be negative, offsets may not.
    offsets[r] =
        buffer.block_bytes(r) == 0 ? 0 : static_cast<std::uint64_t>(buffer.blocks()[r].displacement - buffer.lower());
  }
  return offsets;
}

std::uint64_t program_bytes(const UserBuffer& buffer, Path path) {
  return path == Path::staged ? buffer.packed_bytes() : static_cast<std::uint64_t>(buffer.upper() - buffer.lower());
}

void agree_on_choice(const CommContext& context, algos::Collective collective, const RequestPlan& plan,
                     const Terms& terms) {
  struct Choices {
    int collective;
    int in_place;
    OperationCode operation;
    std::uint64_t element_bytes;
    int commutative;
    Terms terms;
    int executor;
    int algorithm; // row of the registry; -1: to be selected
    algos::Tuning tuning;
  };
  const Choices mine{
      static_cast<int>(collective),
      plan.in_place && !algos::has_root(collective) ? 1 : 0,
      plan.operation.code(),
      plan.operation.element_bytes(),
      plan.operation.commutative() ? 1 : 0,
      terms,
      static_cast<int>(plan.executor),
      plan.choice.algorithm == nullptr ? -1 : static_cast<int>(plan.choice.algorithm - algos::registry().data()),
      plan.choice.tuning};
  Choices first = mine;
  check_mpi(MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, context.comm()), "MPI_Bcast");
  const auto failure = attempt([&] {
    if (mine.collective != first.collective) {
      throw Error(Code::mismatch, std::string(algos::name_of(collective)) + " is initialised here, but on rank 0 " +
                                      std::string(algos::name_of(static_cast<algos::Collective>(first.collective))) +
                                      "; expected the same on all ranks");
    }
    if (terms.root != first.terms.root) {
      throw Error(Code::mismatch, "root is " + std::to_string(terms.root) + " here and " +
                                      std::to_string(first.terms.root) + " on rank 0; expected the same on all ranks");
    }
    if (mine.in_place != first.in_place) {
      throw Error(Code::mismatch,
                  std::string("sendbuf is ") +
                      (plan.in_place ? "MPI_IN_PLACE here, but not" : "a buffer here, but MPI_IN_PLACE") +
                      " on rank 0; expected the same on all ranks");
    }
    if (mine.operation.op != first.operation.op || mine.commutative != first.commutative) {
      throw Error(Code::mismatch, "op is not the one of rank 0; expected the same operation on all ranks");
    }
    if (mine.operation.type != first.operation.type || mine.element_bytes != first.element_bytes) {
      throw Error(Code::mismatch,
                  "datatype does not stand for the same elements as on rank 0: " + std::to_string(mine.element_bytes) +
                      " bytes here and " + std::to_string(first.element_bytes) +
                      " there; expected the same kind on all ranks");
    }
    if (terms.deterministic != first.terms.deterministic) {
      throw Error(Code::mismatch, std::string("info key stoker_deterministic is ") +
                                      (terms.deterministic ? "1 here and 0" : "0 here and 1") +
                                      " on rank 0; expected the same on all ranks");
    }
    if (mine.executor != first.executor) {
      const auto name = [](int executor) {
        return executor == static_cast<int>(Executor::engine) ? "engine" : "inline";
      };
      throw Error(Code::mismatch, std::string("info key stoker_executor asks for ") + name(mine.executor) +
                                      " here and " + name(first.executor) +
                                      " on rank 0; expected the same on all ranks");
    }
    if (mine.algorithm != first.algorithm || mine.tuning != first.tuning) {
      const auto name = [](const Choices& choices) {
        return choices.algorithm < 0
                   ? std::string("auto")
                   : algos::to_text(algos::Choice{&algos::registry()[static_cast<std::size_t>(choices.algorithm)],
                                                  choices.tuning});
      };
      throw Error(Code::mismatch, "info key stoker_algorithm is " + name(mine) + " here and " + name(first) +
                                      " on rank 0; expected the same on all ranks");
    }
  });
  agree(context.comm(), with_rank(context, failure));
}

algos::Choice select(const Engine& engine, const CommContext& context, const std::vector<algos::Choice>& candidates,
                     Executor executor, const std::function<algos::Program(const algos::Choice&)>& compile) {
  const topology::Layout& layout = context.layout();
  if (candidates.size() == 1) {
    return candidates.front();
  }
  const auto driver = executor == Executor::engine ? algos::Driver::helper : algos::Driver::rank;
  std::vector<algos::NodeLoad> loads(candidates.size(), {driver, layout, layout.node_of(context.rank())});
  const auto failure = attempt([&] {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      loads[i].add(context.rank(), load_of(compile(candidates[i]), layout, engine.cost_model()));
    }
  });
  agree(context.comm(), with_rank(context, failure));
  std::vector<double> sums;
  for (algos::NodeLoad& load : loads) {
    sums.insert(sums.end(), load.sums().begin(), load.sums().end());
  }
  check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM, context.node()),
      "MPI_Allreduce");
  auto next = sums.begin();
  for (algos::NodeLoad& load : loads) {
    std::copy_n(next, load.sums().size(), load.sums().begin());
    next += static_cast<std::ptrdiff_t>(load.sums().size());
  }
  std::vector<double> seconds;
  std::ranges::transform(loads, std::back_inserter(seconds), &algos::NodeLoad::seconds);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
                          context.comm()),
            "MPI_Allreduce");
  return candidates[algos::preferred(seconds)];
}

bool puts_through_window(Engine& engine, const RequestPlan& plan) {
  const RmaChoice choice = engine.settings().rma;
  const CommContext& context = *plan.context;
  const bool helped = plan.executor == Executor::engine;
  if (!plan.choice.algorithm->puts || choice == RmaChoice::messages) {
    return false;
  }
  // Within a node helpers write straight into the receive buffers. Between nodes windows are for networks with RDMA: elsewhere a
  // helper that shares its core waits milliseconds in a flush, and messages were never slower.
  if (helped && (choice == RmaChoice::automatic || context.layout().nodes() == 1)) {
    return false;
  }
  const bool possible = engine.put_windows().possible(plan.context, helped, carrier_view(engine, context));
  if (!possible && choice == RmaChoice::window) {
    throw Error(Code::unsupported,
                "rma=window, but the MPI library has no one-sided communication between the ranks of comm that works "
                "here, or one of their carriers is not among them; expected rma=auto, or another transport "
                "(see stoker doctor)");
  }
  return possible;
}

std::unique_ptr<Request> make_request(const std::shared_ptr<Engine>& engine, RequestPlan plan, Path send_path,
                                      Path recv_path, const std::function<CompiledProgram()>& compile,
                                      std::uint64_t begin_ns) {
  const CommContext& context = *plan.context;
  const MPI_Comm comm = context.comm();
  NodeMemory& memory = *engine->memory();
  const RankMap map = rank_map(*engine, context, plan.executor);
  std::vector<PairInfo> pairs(static_cast<std::size_t>(context.ranks()));
  std::vector<PairInfo> peers(pairs.size());
  const auto give_back = [&] {
    for (const std::uint64_t place : {plan.block, plan.send_staging, plan.recv_staging}) {
      if (place != 0) {
        memory.arena().deallocate(place);
      }
    }
  };
  PlacementOptions options;
  std::optional<Error> failure = attempt([&] {
    options.send = describe(memory, plan.send, send_path, plan.send_staging);
    options.recv = describe(memory, plan.recv, recv_path, plan.recv_staging);
  });
  try {
    agree(comm, with_rank(context, failure));
    if (plan.through_window) {
      plan.window = window_for_puts(*engine, plan);
      if (plan.window == nullptr && engine->settings().rma == RmaChoice::window) {
        throw Error(Code::resource,
                    "rma=window, but the MPI library refuses a window over this receive buffer on some rank");
      }
    }
    failure = attempt([&] {
      const auto [program, from_wisdom] = compile();
      plan.from_wisdom = from_wisdom;
      for (const algos::Step& step : program.steps) {
        if (step.peer < 0) {
          continue;
        }
        const bool in_node = map.arena_of[static_cast<std::size_t>(step.peer)] >= 0;
        if (algos::delivers(step.kind)) {
          (in_node ? plan.bytes_node : plan.bytes_wire) += step.bytes;
        } else if (!in_node) {
          plan.bytes_from_wire += step.bytes;
        }
      }
      options.eager_bytes = engine->settings().eager_bytes;
      options.timed = plan.executor == Executor::engine || engine->settings().inline_times ||
                      engine->settings().baseline_calls > 0 || engine->trace() != nullptr || plan.rebindable;
      options.exclusive = plan.executor == Executor::inline_;
      options.rebindable = plan.rebindable;
      options.resizable = plan.any_sizes;
      options.operation = plan.operation.code();
      if (plan.window != nullptr && plan.window->by_carriers) {
        options.exposed = plan.window->exposed;
        options.window_number = plan.window->number;
      }
      options.window = plan.window != nullptr && !plan.window->by_carriers;
      plan.block = place(program, memory, map, options, pairs);
    });
    agree(comm, with_rank(context, failure));
    // Tell the peers where things are. What place() wrote happens before MPI delivers this.
    check_mpi(MPI_Alltoall(pairs.data(), sizeof(PairInfo), MPI_BYTE, peers.data(), sizeof(PairInfo), MPI_BYTE, comm),
              "MPI_Alltoall");
    Block& block = *reinterpret_cast<Block*>(memory.base(memory.self()) + plan.block);
    agree(comm, attempt([&] { link(block, memory, map, pairs, peers); }));
  } catch (...) {
    give_back(); // nobody has started it, so nobody touches it
    throw;
  }

  plan.choice_text = algos::to_text(plan.choice);
  plan.init_seconds = 1e-9 * static_cast<double>(now_ns() - begin_ns);
  if (engine->settings().baseline_calls > 0 && !plan.rebindable &&
      algos::pattern_of(plan.choice.algorithm->collective) != algos::Pattern::distributed_vector) {
    plan.mpi_seconds = mpi_seconds(context, plan.choice.algorithm->collective, plan.send, plan.recv, plan.in_place,
                                   engine->settings().baseline_calls);
  }
  engine->log().info("rank {}: {} init: algorithm {}, executor {}, {} bytes to send, program {}, {} ms", context.rank(),
                     algos::name_of(plan.choice.algorithm->collective), plan.choice_text,
                     plan.executor == Executor::engine ? "engine" : "inline",
                     plan.in_place ? plan.recv.bytes() : plan.send.bytes(),
                     plan.from_wisdom ? "from wisdom" : "compiled", 1e3 * plan.init_seconds);
  return std::make_unique<Request>(engine, std::move(plan));
}

} // namespace stoker::engine
