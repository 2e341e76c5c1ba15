// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/distributed_vector.hpp"

#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/data/arguments.hpp"
#include "engine/requests/choices.hpp"
#include "engine/requests/default_choice.hpp"
#include "engine/requests/device_reach.hpp"
#include "engine/requests/placing.hpp"
#include "engine/requests/reach.hpp"
#include "engine/wisdom/recall.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace stoker::engine {
namespace {

using algos::Collective;
using Sizes = std::vector<std::uint64_t>;

std::string block_name(Collective collective, std::size_t block) {
  const algos::CollectiveTraits& traits = traits_of(collective);
  const bool by_rank = traits.send.counts == algos::Number::each || traits.recv.counts == algos::Number::each;
  return by_rank ? "the block of rank " + std::to_string(block)
                 : std::string(algos::combines(collective) || collective == Collective::bcast ? "the vector"
                                                                                              : "each rank's block");
}

// An operator of the application on elements with gaps finds them in cells, which are copied within the host's memory.
void check_cells_on_host(const RequestPlan& plan) {
  for (const UserBuffer* buffer : {&plan.send, &plan.recv}) {
    if (buffer->residence() == Residence::device) {
      throw Error(Code::unsupported,
                  "{} lies in the memory of a device, and op is the application's on a datatype with gaps; expected "
                  "memory of the host, or a datatype without gaps",
                  buffer == &plan.send ? "sendbuf" : "recvbuf");
    }
  }
}

// Collective: the sizes, equal on all ranks, one for each rank where there are blocks. Those of rank `source` hold: the
// root alone knows those of gatherv and scatterv. Throws Error(mismatch).
Sizes agreed_sizes(const CommContext& context, Collective collective, int source, const CallBuffers& buffers) {
  const auto ranks = static_cast<std::size_t>(context.ranks());
  std::uint64_t length = buffers.sizes ? buffers.sizes->size() : 0;
  check_mpi(PMPI_Bcast(&length, 1, MPI_UINT64_T, source, context.comm()), "MPI_Bcast");
  Sizes sizes = context.rank() == source ? *buffers.sizes : Sizes(length);
  check_mpi(PMPI_Bcast(sizes.data(), static_cast<int>(length), MPI_UINT64_T, source, context.comm()), "MPI_Bcast");
  attempt_on_all(context.comm(), [&] {
    for (std::size_t b = 0; buffers.sizes && b < sizes.size(); ++b) {
      if ((*buffers.sizes)[b] != sizes[b]) {
        throw Error(Code::mismatch, "{} has {} bytes here and {} on rank {}; expected equal counts on all ranks",
                    block_name(collective, b), (*buffers.sizes)[b], sizes[b], source);
      }
    }
    if (buffers.own && !sizes.empty()) {
      const std::uint64_t expected = sizes.size() == 1 ? sizes[0] : sizes[static_cast<std::size_t>(context.rank())];
      if (*buffers.own != expected) {
        throw Error(Code::mismatch,
                    "this rank's block has {} bytes here, but {} for rank {}; expected equal sizes at both ends",
                    *buffers.own, expected, source);
      }
    }
  });
  if (sizes.size() == 1 && algos::has_blocks(collective)) {
    sizes.resize(ranks, sizes.front());
  }
  return sizes;
}

// Where the blocks of all ranks begin, on ranks that have such a buffer.
Sizes block_offsets(Collective collective, const RequestPlan& plan, const Paths& paths) {
  const algos::CollectiveTraits& traits = traits_of(collective);
  return traits.combines                             ? Sizes{}
         : traits.recv.blocks == algos::Number::each ? program_offsets(plan.recv, paths.recv)
         : traits.send.blocks == algos::Number::each ? program_offsets(plan.send, paths.send)
                                                     : Sizes{};
}

// Nothing is cut within one.
std::uint64_t unit_of(Collective collective, const Operation& operation, const Sizes& sizes) {
  return algos::combines(collective)
             ? operation.element_bytes()
             : std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{8}, std::gcd<std::uint64_t, std::uint64_t>);
}

// Whether a rank has the blocks of all ranks in one buffer, where the collective does not combine them.
bool holds_all_blocks(Collective collective, bool at_root) {
  return algos::has_blocks(collective) && !algos::combines(collective) && (at_root || !algos::has_root(collective));
}

algos::DistributedVector vector_of(const RequestPlan& plan, Collective collective, Sizes sizes) {
  const std::uint64_t unit = unit_of(collective, plan.operation, sizes);
  return {.layout = plan.context->layout(),
          .rank = plan.context->rank(),
          .root = plan.root,
          .element_bytes = unit,
          .sizes = std::move(sizes),
          .in_place = plan.in_place,
          .commutative = plan.operation.commutative()};
}

// Collective: the plan's algorithm, if it has none yet.
void choose_algorithm(Engine& engine, RequestPlan& plan, const algos::DistributedVector& vector,
                      Collective collective) {
  if (plan.choice.algorithm == nullptr) {
    take_tuned(engine, collective, algos::tuned_bytes(vector.sizes), plan);
  }
  if (plan.choice.algorithm == nullptr) {
    plan.choice = default_choice(engine, plan, collective, algos::tuned_bytes(vector.sizes), vector.element_bytes);
  }
}

// Collective. `bytes`: of the buffers as the program sees them.
std::unique_ptr<Request> make_request_for(const std::shared_ptr<Engine>& engine, RequestPlan plan, const Paths& paths,
                                          const algos::DistributedVector& vector, const BufferSizes& bytes,
                                          std::uint64_t begin) {
  const auto program = [&](const algos::Choice& choice) {
    return compile_or_recall(
        engine->wisdom(), [&] { return program_key(choice, vector); }, bytes,
        [&] { return algos::compile(choice, vector); });
  };
  return make_request(engine, std::move(plan), paths, program, begin);
}

} // namespace

std::unique_ptr<Request> init_distributed_vector(const std::shared_ptr<Engine>& engine, const CollectiveCall& call,
                                                 MPI_Info info, RequestPlan plan, std::uint64_t begin_ns) {
  const CommContext& context = *plan.context;
  const Collective collective = call.collective;

  // 1. What each rank can check by itself.
  CallBuffers buffers;
  attempt_on_all(context.comm(), [&] {
    buffers = checked_buffers(call, context.rank(), context.ranks());
    plan.in_place = buffers.in_place;
    plan.operation = std::move(buffers.operation);
    plan.root = algos::has_root(collective) ? call.root : 0;
    choose(*engine, collective, info, plan);
    plan.executor = chosen_executor(*engine, plan.operation, info);
    plan.device_use = device_use(*engine, collective, info);
    plan.send = std::move(buffers.send);
    plan.recv = std::move(buffers.recv);
  });

  // 2. What the ranks must agree on.
  agree_on_choice(context, collective, plan);
  const Sizes sizes = agreed_sizes(context, collective, plan.root, buffers);
  plan.vector_bytes = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  take_device(*engine, collective, plan);
  Paths paths;
  attempt_on_all(context.comm(), [&] {
    if (plan.device != nullptr) {
      return;
    }
    if (plan.operation.cells()) {
      paths = {Path::staged, Path::staged};
      check_cells_on_host(plan);
      return;
    }
    // No message is longer than everything together. Results that a rank passes on lie in its receive buffer.
    const Readers readers = readers_of(*engine, context, collective, plan.executor, plan.vector_bytes, false);
    paths.send = chosen_path(*engine, plan.send, readers, collective == Collective::bcast ? "buffer" : "sendbuf");
    paths.recv = chosen_path(*engine, plan.recv, readers, collective == Collective::bcast ? "buffer" : "recvbuf");
  });

  // 3. The program.
  algos::DistributedVector vector = vector_of(plan, collective, sizes);
  choose_algorithm(*engine, plan, vector, collective);
  decide_on_window(*engine, plan, paths);
  vector.offsets = block_offsets(collective, plan, paths);
  if (plan.choice.algorithm->puts_into && holds_all_blocks(collective, false)) {
    vector.put_offsets = exchanged(context.comm(), vector.offsets);
  }
  const BufferSizes bytes{program_bytes(plan.send, paths.send), program_bytes(plan.recv, paths.recv)};
  return make_request_for(engine, std::move(plan), paths, vector, bytes, begin_ns);
}

std::unique_ptr<Request> init_rebindable_distributed_vector(const std::shared_ptr<Engine>& engine,
                                                            Collective collective, RequestPlan plan,
                                                            const Sizes& sizes) {
  const std::uint64_t begin = now_ns();
  engine->sweep();
  plan.rebindable = true;
  const CommContext& context = *plan.context;
  agree_on_choice(context, collective, plan);
  CallBuffers known;
  known.sizes = sizes;
  algos::DistributedVector vector = vector_of(plan, collective, agreed_sizes(context, collective, plan.root, known));
  if (holds_all_blocks(collective, context.rank() == plan.root)) { // one behind the other
    vector.offsets.resize(vector.sizes.size());
    std::exclusive_scan(vector.sizes.begin(), vector.sizes.end(), vector.offsets.begin(), std::uint64_t{0});
    vector.put_offsets.resize(vector.sizes.size(), vector.offsets[static_cast<std::size_t>(context.rank())]);
  }
  plan.vector_bytes = std::accumulate(vector.sizes.begin(), vector.sizes.end(), std::uint64_t{0});
  choose_algorithm(*engine, plan, vector, collective);
  const BufferSizes bytes = packed_sizes(collective, vector);
  return make_request_for(engine, std::move(plan), {}, vector, bytes, begin);
}

BufferSizes packed_sizes(Collective collective, const algos::DistributedVector& vector) {
  const bool at_root = vector.rank == vector.root;
  const std::uint64_t total = std::accumulate(vector.sizes.begin(), vector.sizes.end(), std::uint64_t{0});
  const std::uint64_t own = vector.sizes.size() > 1 ? vector.sizes[static_cast<std::size_t>(vector.rank)] : total;
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
    return {vector.in_place ? 0 : own, total};
  case Collective::reduce_scatter:
  case Collective::reduce_scatter_block:
    return vector.in_place ? BufferSizes{0, total} : BufferSizes{total, own};
  case Collective::exscan:
    if (vector.rank == 0 && !vector.in_place) {
      return {total, 0};
    }
    [[fallthrough]];
  default: // a barrier's are empty
    return {vector.in_place ? 0 : total, total};
  }
}

} // namespace stoker::engine
