// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/exchange.hpp"

#include "algos/collectives/exchange.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/requests/choices.hpp"
#include "engine/requests/default_choice.hpp"
#include "engine/requests/device_reach.hpp"
#include "engine/requests/placing.hpp"
#include "engine/requests/reach.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stoker::engine {
namespace {

using algos::Collective;
using Sizes = std::vector<std::uint64_t>;

// Sizes that this rank receives according to its peers; compared with what it expects.
void check_sizes(const Sizes& announced, const UserBuffer& recv) {
  for (std::size_t r = 0; r < announced.size(); ++r) {
    if (announced[r] != recv.block_bytes(r)) {
      throw Error(Code::mismatch, "rank {} sends {} bytes to it, but its receive arguments expect {} from there", r,
                  announced[r], recv.block_bytes(r));
    }
  }
}

// Every rank must be able to hold all sizes; equal on all ranks.
constexpr std::uint64_t most_bytes_of_sizes = std::uint64_t{1} << 29U; // twice that while they are exchanged

// That a rank would have to hold for the algorithm.
std::uint64_t bytes_of_sizes(const CommContext& context, const algos::Choice& choice) {
  const auto ranks = static_cast<std::uint64_t>(context.ranks());
  const bool all =
      choice.algorithm->collective == Collective::alltoallv && algos::knowledge_of(choice) == algos::Knowledge::all;
  return all ? ranks * ranks * sizeof(std::uint64_t) : 0;
}

algos::BlockSizes known_sizes(const CommContext& context, const algos::Choice& choice, const Sizes& row,
                              const Sizes& column) {
  if (choice.algorithm->collective == algos::Collective::alltoall) {
    return algos::BlockSizes::uniform(context.ranks(), row.front()); // check_sizes has compared them
  }
  const algos::Knowledge knowledge = algos::knowledge_of(choice);
  auto sizes = algos::BlockSizes::table(context.ranks());
  if (knowledge == algos::Knowledge::own) {
    sizes.set_row(context.rank(), row);
    sizes.set_column(context.rank(), column);
    return sizes;
  }
  // With the rows of all ranks the columns are known, too; of a node's ranks both are needed.
  const bool all = knowledge == algos::Knowledge::all;
  if (const std::uint64_t bytes = bytes_of_sizes(context, choice); bytes > most_bytes_of_sizes) {
    throw Error(Code::unsupported,
                "{} for alltoallv of {} ranks would take {} MiB for block sizes on every rank; expected 512 at most, "
                "or an algorithm that forwards only what its own node sends or receives",
                algos::to_text(choice), row.size(), bytes >> 20U);
  }
  Sizes mine = row;
  if (!all) {
    mine.insert(mine.end(), column.begin(), column.end());
  }
  std::vector<int> members(static_cast<std::size_t>(context.ranks()));
  std::iota(members.begin(), members.end(), 0);
  if (!all) {
    const auto node = context.layout().node_ranks(context.layout().node_of(context.rank()));
    members.assign(node.begin(), node.end());
  }
  Sizes gathered(mine.size() * members.size());
  const int bytes = static_cast<int>(mine.size() * sizeof(std::uint64_t));
  check_mpi(PMPI_Allgather(mine.data(), bytes, MPI_BYTE, gathered.data(), bytes, MPI_BYTE,
                           all ? context.comm() : context.node()),
            "MPI_Allgather");
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto begin = gathered.begin() + static_cast<std::ptrdiff_t>(i * mine.size());
    const auto middle = begin + static_cast<std::ptrdiff_t>(row.size());
    sizes.set_row(members[i], Sizes(begin, middle));
    if (!all) {
      sizes.set_column(members[i], Sizes(middle, begin + static_cast<std::ptrdiff_t>(mine.size())));
    }
  }
  return sizes;
}

std::uint64_t total(const Sizes& sizes) { return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}); }

Paths chosen_paths(const Engine& engine, const RequestPlan& plan, const Sizes& row) {
  const CommContext& context = *plan.context;
  const topology::Layout& layout = context.layout();
  std::uint64_t longest_in_node = 0;
  for (int r = 0; r < context.ranks(); ++r) {
    if (r != context.rank() && layout.same_node(r, context.rank())) {
      longest_in_node = std::max(longest_in_node, row[static_cast<std::size_t>(r)]);
    }
  }
  // Bundles of blocks are longer than blocks, and have to be fetched however short the blocks are.
  const bool bundles = algos::knowledge_of(plan.choice) != algos::Knowledge::own;
  const Readers readers =
      readers_of(engine, context, Collective::alltoall, plan.executor, longest_in_node, bundles && total(row) > 0);
  // Peers fetch from send buffers and scratch only.
  return {.send = plan.in_place ? Path::own : chosen_path(engine, plan.send, readers, "sendbuf"),
          .recv = chosen_path(engine, plan.recv, {.helper = readers.helper}, "recvbuf")};
}

// Blocks of equal size, one behind the other.
struct EqualBlocks {
  EqualBlocks(int ranks, std::uint64_t bytes)
      : sizes(algos::BlockSizes::uniform(ranks, bytes)), offsets(algos::equal_offsets(ranks, bytes)) {}
  // `put_offset`: of this rank's block in the others' receive buffers.
  [[nodiscard]] algos::Exchange exchange(const CommContext& context, bool in_place, std::uint64_t put_offset) const {
    return {.layout = context.layout(),
            .rank = context.rank(),
            .sizes = sizes,
            .send_offsets = in_place ? Sizes{} : offsets,
            .recv_offsets = offsets,
            .in_place = in_place,
            .put_offsets = Sizes(offsets.size(), put_offset)};
  }
  algos::BlockSizes sizes;
  Sizes offsets;
};

// `exchange` outlives it.
auto compiler(const algos::Exchange& exchange) {
  return [&exchange](const algos::Choice& choice) { return CompiledProgram{algos::compile(choice, exchange)}; };
}

// Collective: the plan's algorithm, which it does not have yet. As if all blocks had the mean size, which is all that
// every rank knows of alltoallv.
void choose_by_mean(Engine& engine, RequestPlan& plan, Collective collective, std::uint64_t sent) {
  check_mpi(PMPI_Allreduce(MPI_IN_PLACE, &sent, 1, MPI_UINT64_T, MPI_SUM, plan.context->comm()), "MPI_Allreduce");
  const auto ranks = static_cast<std::uint64_t>(plan.context->ranks());
  const std::uint64_t mean = (sent + (ranks * ranks) - 1) / (ranks * ranks);
  take_tuned(engine, collective, mean, plan);
  if (plan.choice.algorithm != nullptr && bytes_of_sizes(*plan.context, plan.choice) > most_bytes_of_sizes) {
    plan.chosen_by = "cost model, since no rank can hold the block sizes for " + algos::to_text(plan.choice);
    plan.choice = {};
  }
  if (plan.choice.algorithm == nullptr) {
    plan.choice = default_choice(engine, plan, collective, mean, 1);
  }
}

} // namespace

std::unique_ptr<Request> init_exchange(const std::shared_ptr<Engine>& engine, const CollectiveCall& call, MPI_Info info,
                                       RequestPlan plan, std::uint64_t begin_ns) {
  const CommContext& context = *plan.context;
  const MPI_Comm comm = context.comm();
  const Collective collective = traits_of(call.collective).carried_out_as;

  // 1. What each rank can check by itself.
  Sizes row;
  attempt_on_all(comm, [&] {
    take_buffers(*engine, call, nullptr, plan);
    choose(*engine, collective, info, plan);
    plan.executor = chosen_executor(*engine, info);
    plan.device_use = device_use(*engine, collective, info);
    row = (plan.in_place ? plan.recv : plan.send).block_sizes();
  });

  // 2. What the ranks must agree on, and who sends how much to whom.
  agree_on_choice(context, collective, plan);
  take_device(*engine, collective, plan);
  if (plan.choice.algorithm == nullptr) {
    choose_by_mean(*engine, plan, collective, total(row));
  }
  const Sizes announced = exchanged(comm, row);
  Paths paths;
  attempt_on_all(comm, [&] {
    check_sizes(announced, plan.recv);
    if (plan.device == nullptr) {
      paths = chosen_paths(*engine, plan, row);
    }
  });

  // 3. The program.
  const algos::BlockSizes sizes = known_sizes(context, plan.choice, row, announced);
  decide_on_window(*engine, plan, paths);
  const Sizes recv_offsets = program_offsets(plan.recv, paths.recv);
  const Sizes put_offsets = plan.choice.algorithm->puts_into ? exchanged(comm, recv_offsets) : Sizes{};
  const algos::Exchange exchange{.layout = context.layout(),
                                 .rank = context.rank(),
                                 .sizes = sizes,
                                 .send_offsets = plan.in_place ? Sizes{} : program_offsets(plan.send, paths.send),
                                 .recv_offsets = recv_offsets,
                                 .in_place = plan.in_place,
                                 .put_offsets = put_offsets};
  return make_request(engine, std::move(plan), paths, compiler(exchange), begin_ns);
}

std::unique_ptr<Request> init_rebindable_alltoall(const std::shared_ptr<Engine>& engine, RequestPlan plan,
                                                  std::uint64_t bytes) {
  const std::uint64_t begin = now_ns();
  engine->sweep();
  plan.rebindable = true;
  const CommContext& context = *plan.context;
  agree_on_choice(context, Collective::alltoall, plan);
  std::uint64_t first = bytes;
  check_mpi(PMPI_Bcast(&first, 1, MPI_UINT64_T, 0, context.comm()), "MPI_Bcast");
  attempt_on_all(context.comm(), [&] {
    if (bytes != first) {
      throw Error(Code::mismatch, "each block has {} bytes here and {} on rank 0; expected equal sizes on all ranks",
                  bytes, first);
    }
  });
  const EqualBlocks blocks(context.ranks(), bytes);
  const algos::Exchange exchange =
      blocks.exchange(context, plan.in_place, bytes * static_cast<std::uint64_t>(context.rank()));
  if (plan.choice.algorithm == nullptr) {
    take_tuned(*engine, Collective::alltoall, bytes, plan);
  }
  if (plan.choice.algorithm == nullptr) {
    plan.choice = default_choice(*engine, plan, Collective::alltoall, bytes, 1);
  }
  return make_request(engine, std::move(plan), {}, compiler(exchange), begin);
}

std::unique_ptr<Request> init_any_exchange(const std::shared_ptr<Engine>& engine, RequestPlan plan) {
  const std::uint64_t begin = now_ns();
  engine->sweep();
  plan.rebindable = true;
  plan.any_sizes = true;
  const CommContext& context = *plan.context;
  plan.choice = {algos::find(Collective::alltoallv, "nonblocking"), {}};
  agree_on_choice(context, Collective::alltoallv, plan);
  const EqualBlocks blocks(context.ranks(), 1); // one byte stands for what will be
  const algos::Exchange exchange = blocks.exchange(context, false, 0);
  return make_request(engine, std::move(plan), {}, compiler(exchange), begin);
}

} // namespace stoker::engine
