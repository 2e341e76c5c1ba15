// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/neighborhood.hpp"

#include "algos/collectives/neighbor_exchange.hpp"
#include "algos/select/selection.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/owned_handle.hpp"
#include "engine/requests/choices.hpp"
#include "engine/requests/default_choice.hpp"
#include "engine/requests/device_reach.hpp"
#include "engine/requests/placing.hpp"
#include "engine/requests/reach.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

namespace stoker::engine {
namespace {

using algos::Collective;
using algos::NeighborBlock;
using algos::Neighborhood;

// The MPI datatype with which ranks tell each other of blocks.
OwnedType block_type() {
  static_assert(std::is_trivially_copyable_v<NeighborBlock>);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  PMPI_Type_contiguous(sizeof(NeighborBlock), MPI_BYTE, &type);
  PMPI_Type_commit(&type);
  return OwnedType(type);
}

// One block for each neighbor that exists, in the order in which blocks of one pair of ranks match.
std::vector<NeighborBlock> blocks_to(const std::vector<int>& ranks, const std::vector<std::size_t>& order,
                                     const UserBuffer& buffer, Path path) {
  const std::vector<std::uint64_t> offsets = program_offsets(buffer, path);
  std::vector<NeighborBlock> blocks;
  for (const std::size_t i : order) {
    if (ranks[i] != MPI_PROC_NULL) {
      blocks.push_back({ranks[i], buffer.block_bytes(i), offsets[i], 0});
    }
  }
  return blocks;
}

// Whether blocks of several ranks may travel together: by the algorithm, or by the one that may be selected.
bool may_bundle(const algos::Choice& choice, const topology::Layout& layout) {
  return choice.algorithm == nullptr ? layout.nodes() > 1 && layout.nodes() < layout.ranks()
                                     : algos::knowledge_of(choice) != algos::Knowledge::own;
}

std::vector<std::size_t> in_order(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

// The longest of this rank's blocks for other ranks of its node.
std::uint64_t longest_in_node(const RequestPlan& plan, const Neighbors& neighbors) {
  const CommContext& context = *plan.context;
  std::uint64_t longest = 0;
  for (std::size_t i = 0; i < neighbors.targets.size(); ++i) {
    const int peer = neighbors.targets[i];
    if (peer != MPI_PROC_NULL && peer != context.rank() && context.layout().same_node(peer, context.rank())) {
      longest = std::max(longest, plan.send.block_bytes(i));
    }
  }
  return longest;
}

std::vector<int> displacements(const std::vector<int>& counts) {
  std::vector<int> displs(counts.size(), 0);
  std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), 0);
  return displs;
}

// Gathers the sizes and shared offsets of the blocks that this rank receives from their sources, and checks that they
// are what it expects.
void learn_incoming(const CommContext& context, Neighborhood& own) {
  const auto ranks = static_cast<std::size_t>(context.ranks());
  std::vector<NeighborBlock> out = own.outgoing;
  std::ranges::stable_sort(out, {}, &NeighborBlock::peer);
  std::vector<int> sending(ranks, 0);
  for (const NeighborBlock& block : out) {
    ++sending[static_cast<std::size_t>(block.peer)];
  }
  std::vector<int> receiving(ranks, 0);
  check_mpi(PMPI_Alltoall(sending.data(), 1, MPI_INT, receiving.data(), 1, MPI_INT, context.comm()), "MPI_Alltoall");
  const std::vector<int> sdispls = displacements(sending);
  const std::vector<int> rdispls = displacements(receiving);
  std::vector<NeighborBlock> in(static_cast<std::size_t>(rdispls.back() + receiving.back()));
  const OwnedType type = block_type();
  const int code = PMPI_Alltoallv(out.data(), sending.data(), sdispls.data(), type, in.data(), receiving.data(),
                                  rdispls.data(), type, context.comm());
  check_mpi(code, "MPI_Alltoallv");

  attempt_on_all(context.comm(), [&] {
    std::vector<int> taken(ranks, 0);
    for (const NeighborBlock& block : own.incoming) {
      ++taken[static_cast<std::size_t>(block.peer)];
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      if (taken[r] != receiving[r]) {
        throw Error(Code::mismatch,
                    "comm's topology: rank {} lists this rank as a destination {} times, but is listed here as a "
                    "source {} times; expected edges that both ends know",
                    r, receiving[r], taken[r]);
      }
    }
    std::ranges::fill(taken, 0);
    for (NeighborBlock& block : own.incoming) {
      const auto r = static_cast<std::size_t>(block.peer);
      const NeighborBlock& sent = in[static_cast<std::size_t>(rdispls[r]) + static_cast<std::size_t>(taken[r])];
      if (sent.bytes != block.bytes) {
        throw Error(Code::mismatch,
                    "neighbor rank {} sends {} bytes to it (its block {} for this rank), but the receive arguments "
                    "expect {} from there",
                    r, sent.bytes, taken[r], block.bytes);
      }
      block.shared_offset = sent.shared_offset;
      ++taken[r];
    }
  });
}

// The neighborhoods of all ranks of this node, in rank order.
std::vector<Neighborhood> gather_node(const CommContext& context, const Neighborhood& own) {
  struct Lengths {
    int outgoing = 0;
    int incoming = 0;
  };
  const Lengths mine{static_cast<int>(own.outgoing.size()), static_cast<int>(own.incoming.size())};
  const std::vector<Lengths> lengths = gathered(context.node(), mine);
  std::vector<NeighborBlock> blocks = own.outgoing;
  blocks.insert(blocks.end(), own.incoming.begin(), own.incoming.end());
  std::vector<int> counts;
  for (const Lengths& length : lengths) {
    counts.push_back(length.outgoing + length.incoming);
  }
  const std::vector<int> displs = displacements(counts);
  std::vector<NeighborBlock> all(static_cast<std::size_t>(displs.back() + counts.back()));
  const OwnedType type = block_type();
  const int code = PMPI_Allgatherv(blocks.data(), static_cast<int>(blocks.size()), type, all.data(), counts.data(),
                                   displs.data(), type, context.node());
  check_mpi(code, "MPI_Allgatherv");
  std::vector<Neighborhood> node(lengths.size());
  auto next = all.begin();
  for (std::size_t i = 0; i < node.size(); ++i) {
    node[i].outgoing.assign(next, next + lengths[i].outgoing);
    next += lengths[i].outgoing;
    node[i].incoming.assign(next, next + lengths[i].incoming);
    next += lengths[i].incoming;
  }
  return node;
}

} // namespace

std::unique_ptr<Request> init_neighborhood(const std::shared_ptr<Engine>& engine, const CollectiveCall& call,
                                           MPI_Info info, RequestPlan plan, std::uint64_t begin_ns) {
  const CommContext& context = *plan.context;
  const topology::Layout& layout = context.layout();
  const Collective collective = traits_of(call.collective).carried_out_as;

  // 1. What each rank can check by itself.
  Neighbors neighbors;
  Neighborhood own;
  Paths paths;
  attempt_on_all(context.comm(), [&] {
    neighbors = neighbors_of(call.comm);
    take_buffers(*engine, call, &neighbors, plan);
    choose(*engine, collective, info, plan);
    plan.executor = chosen_executor(*engine, info);
    plan.device_use = device_use(*engine, collective, info);
  });

  // 2. What the ranks must agree on, and what they know of each other's blocks.
  agree_on_choice(context, collective, plan);
  take_device(*engine, collective, plan);
  attempt_on_all(context.comm(), [&] {
    const Readers readers = readers_of(*engine, context, collective, plan.executor, longest_in_node(plan, neighbors),
                                       may_bundle(plan.choice, layout));
    if (plan.device == nullptr) { // peers fetch from send buffers and scratch only
      paths.recv = chosen_path(*engine, plan.recv, {.helper = readers.helper}, "recvbuf");
      paths.send = chosen_path(*engine, plan.send, readers, "sendbuf");
    }
    own.outgoing = blocks_to(neighbors.targets, in_order(neighbors.targets.size()), plan.send, paths.send);
    std::vector<std::size_t> arriving = in_order(neighbors.sources.size());
    std::ranges::transform(arriving, arriving.begin(),
                           [&](std::size_t i) { return neighbors.arriving(i, call.collective); });
    own.incoming = blocks_to(neighbors.sources, arriving, plan.recv, paths.recv);
    share_by_node(layout, own.outgoing);
  });

  learn_incoming(context, own);
  std::vector<Neighborhood> node;
  if (may_bundle(plan.choice, layout)) {
    node = gather_node(context, own);
  }
  const algos::NeighborExchange exchange{.layout = layout, .rank = context.rank(), .own = own, .node = node};
  if (plan.choice.algorithm == nullptr) {
    plan.choice = default_choice_by_node(
        *engine, plan, algos::candidates(collective, layout, 0), [&](const algos::Choice& choice, int rank) {
          const auto member = static_cast<std::size_t>(layout.local_index(rank));
          return algos::compile(choice, {.layout = layout, .rank = rank, .own = node[member], .node = node});
        });
  }

  // 3. The program.
  return make_request(
      engine, std::move(plan), paths,
      [&](const algos::Choice& choice) { return CompiledProgram{algos::compile(choice, exchange)}; }, begin_ns);
}

} // namespace stoker::engine
