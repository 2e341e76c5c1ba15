// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/vector_request.hpp"

#include "algos/select/selection.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/requests/init.hpp"
#include "engine/wisdom/recall.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace stoker::engine {
namespace {

using algos::Collective;
using Sizes = std::vector<std::uint64_t>;

// The function of a user-defined operation is known in its own process only.
Executor executor_for(const Engine& engine, const Operation& operation, MPI_Info info) {
  const Executor executor = chosen_executor(engine, info);
  if (!operation.user_defined()) {
    return executor;
  }
  if (info_value(info, "stoker_executor") == "engine") {
    throw Error(Code::unsupported,
                "info key stoker_executor=engine, but op is a user-defined operation, whose function "
                "helpers in other processes cannot call; expected auto or inline");
  }
  return Executor::inline_;
}

bool fits(const algos::Algorithm& algorithm, const Operation& operation, bool deterministic) {
  return (operation.commutative() || !algorithm.commutative) && (!deterministic || algorithm.fixed_order);
}

std::string fitting(Collective collective, const Operation& operation, bool deterministic) {
  std::string names = "auto";
  for (const algos::Algorithm& algorithm : algos::algorithms_of(collective)) {
    if (fits(algorithm, operation, deterministic)) {
      names += ", " + std::string(algorithm.name);
    }
  }
  return names;
}

void check_fit(const algos::Algorithm& algorithm, const Operation& operation, bool deterministic) {
  if (!fits(algorithm, operation, deterministic)) {
    const std::string why = algorithm.commutative && !operation.commutative()
                                ? " combines operands in any order, but op is not commutative"
                                : " has no fixed order of combining operands, but the request is to be deterministic";
    throw Error(Code::setting, "algorithm " + std::string(algorithm.name) + " of " +
                                   std::string(algos::name_of(algorithm.collective)) + why + "; expected " +
                                   fitting(algorithm.collective, operation, deterministic));
  }
}

// Which rank's sizes hold: that of the root, which alone knows those of gatherv and scatterv.
int source_of_sizes(Collective collective, const Terms& terms) { return algos::has_root(collective) ? terms.root : 0; }

std::string block_name(Collective collective, std::size_t block) {
  const bool by_rank = collective == Collective::gatherv || collective == Collective::scatterv ||
                       collective == Collective::allgatherv || collective == Collective::reduce_scatter;
  return by_rank ? "the block of rank " + std::to_string(block)
                 : std::string(algos::combines(collective) || collective == Collective::bcast ? "the vector"
                                                                                              : "each rank's block");
}

// Collective: the sizes, equal on all ranks, one for each rank where there are blocks. Throws Error(mismatch).
Sizes agreed_sizes(const CommContext& context, Collective collective, const Terms& terms,
                   const VectorBuffers& buffers) {
  const int source = source_of_sizes(collective, terms);
  const auto ranks = static_cast<std::size_t>(context.ranks());
  std::uint64_t length = buffers.sizes ? buffers.sizes->size() : 0;
  check_mpi(MPI_Bcast(&length, 1, MPI_UINT64_T, source, context.comm()), "MPI_Bcast");
  Sizes sizes = context.rank() == source ? *buffers.sizes : Sizes(length);
  check_mpi(MPI_Bcast(sizes.data(), static_cast<int>(length), MPI_UINT64_T, source, context.comm()), "MPI_Bcast");
  const auto failure = attempt([&] {
    for (std::size_t b = 0; buffers.sizes && b < sizes.size(); ++b) {
      if ((*buffers.sizes)[b] != sizes[b]) {
        throw Error(Code::mismatch, block_name(collective, b) + " has " + std::to_string((*buffers.sizes)[b]) +
                                        " bytes here and " + std::to_string(sizes[b]) + " on rank " +
                                        std::to_string(source) + "; expected equal counts on all ranks");
      }
    }
    if (buffers.own && !sizes.empty()) {
      const std::uint64_t expected = sizes.size() == 1 ? sizes[0] : sizes[static_cast<std::size_t>(context.rank())];
      if (*buffers.own != expected) {
        throw Error(Code::mismatch, "this rank's block has " + std::to_string(*buffers.own) + " bytes here, but " +
                                        std::to_string(expected) + " for rank " + std::to_string(source) +
                                        "; expected equal sizes at both ends");
      }
    }
  });
  agree(context.comm(), with_rank(context, failure));
  if (sizes.size() == 1 && !one_vector(collective)) {
    sizes.resize(ranks, sizes.front());
  }
  return sizes;
}

// Where the blocks of all ranks begin, on ranks that have such a buffer.
Sizes block_offsets(Collective collective, const RequestPlan& plan, Path send_path, Path recv_path) {
  switch (collective) {
  case Collective::allgather:
  case Collective::allgatherv:
  case Collective::gather:
  case Collective::gatherv:
    return program_offsets(plan.recv, recv_path);
  case Collective::scatter:
  case Collective::scatterv:
    return program_offsets(plan.send, send_path);
  default:
    return {};
  }
}

// Nothing is cut within one.
std::uint64_t unit_of(Collective collective, const Operation& operation, const Sizes& sizes) {
  return algos::combines(collective)
             ? operation.element_bytes()
             : std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{8}, std::gcd<std::uint64_t, std::uint64_t>);
}

// Whether a rank has the blocks of all ranks in one buffer, where the collective does not combine them.
bool holds_all_blocks(Collective collective, bool at_root) {
  return collective == Collective::allgather || collective == Collective::allgatherv ||
         (at_root && (collective == Collective::gather || collective == Collective::scatter));
}

// Collective: the plan's algorithm, if it has none yet.
void choose_algorithm(Engine& engine, RequestPlan& plan, const Terms& terms, const algos::DistributedVector& call,
                      Collective collective) {
  const CommContext& context = *plan.context;
  if (plan.choice.algorithm == nullptr) {
    auto candidates = algos::vector_candidates(collective, call.layout, plan.operation.commutative(),
                                               std::accumulate(call.sizes.begin(), call.sizes.end(), std::uint64_t{0}));
    if (terms.deterministic) { // which is fastest may depend on more than the operands
      std::erase_if(candidates, [](const algos::Choice& choice) { return !choice.algorithm->fixed_order; });
      candidates.resize(std::min<std::size_t>(candidates.size(), 1));
    }
    if (candidates.empty()) { // on all ranks
      throw Error(Code::unsupported, std::string(algos::name_of(collective)) +
                                         " has no algorithm with a fixed order of combining operands; expected "
                                         "deterministic=0");
    }
    const auto driver = plan.executor == Executor::engine ? algos::Driver::helper : algos::Driver::rank;
    plan.choice = choose_or_recall(
        engine.wisdom(), context.comm(),
        [&] { return choice_key(collective, call, driver, engine.cost_model(), candidates); }, candidates,
        [&] {
          return select(engine, context, candidates, plan.executor,
                        [&](const algos::Choice& choice) { return algos::compile(choice, call); });
        });
  }
}

// Collective. `bytes`: of the buffers as the program sees them.
std::unique_ptr<Request> place_vector_request(const std::shared_ptr<Engine>& engine, RequestPlan plan, Path send_path,
                                              Path recv_path, const algos::DistributedVector& call,
                                              const BufferSizes& bytes, std::uint64_t begin) {
  const algos::Choice choice = plan.choice;
  const auto program = [&] {
    return compile_or_recall(
        engine->wisdom(), [&] { return program_key(choice, call); }, bytes,
        [&] { return algos::compile(choice, call); });
  };
  return make_request(engine, std::move(plan), send_path, recv_path, program, begin);
}

} // namespace

bool is_deterministic(const Engine& engine, Collective collective, MPI_Info info) {
  const std::optional<std::string> wish = info_value(info, "stoker_deterministic");
  if (wish && *wish != "0" && *wish != "1" && *wish != "false" && *wish != "true") {
    throw Error(Code::setting, "info key stoker_deterministic=" + *wish + "; expected 0 or 1");
  }
  return algos::combines(collective) && (wish ? *wish == "1" || *wish == "true" : engine.settings().deterministic);
}

std::unique_ptr<Request> make_vector_request(const std::shared_ptr<Engine>& engine, Collective collective,
                                             const VectorArguments& arguments) {
  const std::uint64_t begin = now_ns();
  engine->sweep();
  RequestPlan plan;
  plan.context = engine->context(arguments.comm);
  const CommContext& context = *plan.context;
  const topology::Layout& layout = context.layout();

  // 1. What each rank can check by itself.
  Terms terms;
  VectorBuffers buffers;
  const auto wrong = attempt([&] {
    buffers = checked_buffers(collective, arguments, context.rank(), context.ranks());
    plan.in_place = buffers.in_place;
    plan.operation = std::move(buffers.operation);
    terms = read_terms(*engine, collective, arguments, plan);
    plan.executor = executor_for(*engine, plan.operation, arguments.info);
  });
  agree(context.comm(), with_rank(context, wrong));

  // 2. What the ranks must agree on.
  agree_on_choice(context, collective, plan, terms);
  const Sizes sizes = agreed_sizes(context, collective, terms, buffers);
  Path send_path = Path::own;
  Path recv_path = Path::own;
  const auto unreachable = attempt([&] {
    plan.send = std::move(buffers.send);
    plan.recv = std::move(buffers.recv);
    if (plan.operation.slots()) {
      send_path = Path::staged;
      recv_path = Path::staged;
      return;
    }
    // No message is longer than everything together. Results that a rank passes on lie in its receive buffer.
    const std::uint64_t longest = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    const Readers readers = readers_of(*engine, context, plan.executor, longest, false);
    send_path = chosen_path(*engine, plan.send, readers, collective == Collective::bcast ? "buffer" : "sendbuf");
    recv_path = chosen_path(*engine, plan.recv, readers, collective == Collective::bcast ? "buffer" : "recvbuf");
  });
  agree(context.comm(), with_rank(context, unreachable));

  // 3. The program.
  const algos::DistributedVector call{.layout = layout,
                                      .rank = context.rank(),
                                      .root = terms.root,
                                      .element_bytes = unit_of(collective, plan.operation, sizes),
                                      .sizes = sizes,
                                      .offsets = block_offsets(collective, plan, send_path, recv_path),
                                      .in_place = plan.in_place,
                                      .commutative = plan.operation.commutative()};
  choose_algorithm(*engine, plan, terms, call, collective);
  const BufferSizes bytes{program_bytes(plan.send, send_path), program_bytes(plan.recv, recv_path)};
  return place_vector_request(engine, std::move(plan), send_path, recv_path, call, bytes, begin);
}

Terms read_terms(Engine& engine, Collective collective, const VectorArguments& arguments, RequestPlan& plan) {
  const Terms terms{.root = algos::has_root(collective) ? arguments.root : 0,
                    .deterministic = is_deterministic(engine, collective, arguments.info)};
  plan.choice = requested_choice(engine, collective, *plan.context, arguments.info);
  if (plan.choice.algorithm != nullptr) {
    check_fit(*plan.choice.algorithm, plan.operation, terms.deterministic);
  }
  return terms;
}

std::unique_ptr<Request> make_rebindable_vector_request(const std::shared_ptr<Engine>& engine, Collective collective,
                                                        RequestPlan plan, const Terms& terms, const Sizes& sizes) {
  const std::uint64_t begin = now_ns();
  engine->sweep();
  plan.rebindable = true;
  const CommContext& context = *plan.context;
  agree_on_choice(context, collective, plan, terms);
  VectorBuffers known;
  known.sizes = sizes;
  const Sizes blocks = agreed_sizes(context, collective, terms, known);
  algos::DistributedVector call{.layout = context.layout(),
                                .rank = context.rank(),
                                .root = terms.root,
                                .element_bytes = unit_of(collective, plan.operation, blocks),
                                .sizes = blocks,
                                .in_place = plan.in_place,
                                .commutative = plan.operation.commutative()};
  if (holds_all_blocks(collective, context.rank() == terms.root)) { // one behind the other
    call.offsets.resize(blocks.size());
    std::exclusive_scan(blocks.begin(), blocks.end(), call.offsets.begin(), std::uint64_t{0});
  }
  choose_algorithm(*engine, plan, terms, call, collective);
  const BufferSizes bytes = packed_sizes(collective, call);
  return place_vector_request(engine, std::move(plan), Path::own, Path::own, call, bytes, begin);
}

BufferSizes packed_sizes(Collective collective, const algos::DistributedVector& call) {
  const bool at_root = call.rank == call.root;
  const std::uint64_t total = std::accumulate(call.sizes.begin(), call.sizes.end(), std::uint64_t{0});
  const std::uint64_t own = call.sizes.size() > 1 ? call.sizes[static_cast<std::size_t>(call.rank)] : total;
  switch (collective) {
  case Collective::bcast:
    return at_root ? BufferSizes{total, 0} : BufferSizes{0, total};
  case Collective::reduce:
    return {total, at_root ? total : 0};
  case Collective::gather:
    return {own, at_root ? total : 0};
  case Collective::scatter:
    return {at_root ? total : 0, own};
  case Collective::allgather:
  case Collective::allgatherv:
    return {call.in_place ? 0 : own, total};
  case Collective::reduce_scatter:
  case Collective::reduce_scatter_block:
    return call.in_place ? BufferSizes{0, total} : BufferSizes{total, own};
  case Collective::exscan:
    if (call.rank == 0 && !call.in_place) {
      return {total, 0};
    }
    [[fallthrough]];
  default: // a barrier's are empty
    return {call.in_place ? 0 : total, total};
  }
}

} // namespace stoker::engine
