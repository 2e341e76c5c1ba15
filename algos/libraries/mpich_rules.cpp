// SPDX-License-Identifier: BSD-3-Clause
// MPICH 4.0 and 4.1 with the device ch4. Two tables that the library is built with decide:
//   maint/tuning/coll/ch4/generic.json   how a collective is composed of stages within and between nodes
//   maint/tuning/coll/mpir/generic.json  the algorithm of a stage, or of all ranks where there are no stages
// and within a node maint/tuning/coll/ch4/posix_generic.json. Those of 4.0.3 and 4.1.2 say the same. They count, and
// not the thresholds in the environment (src/mpi/coll/cvars.txt), which differ for allreduce: it is short up to 8
// bytes, where MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE says 2048. SimGrid's selector "mpich" has the rules of MPICH 3: 2048
// bytes, and "less than" where these tables say "up to".
// Operations that are not commutative count as the application's own ones, as all predefined ones are commutative.
#include "algos/libraries/rules.hpp"

#include <algorithm>
#include <bit>

namespace stoker::algos {

namespace {

using topology::Layout;

// MPIR_CVAR_ALLTOALL_THROTTLE
constexpr std::size_t throttle = 32;
constexpr std::uint64_t short_bcast = 12288;
constexpr std::uint64_t long_bcast = 524288;
constexpr std::size_t few_ranks = 8; // of alltoall and bcast

constexpr std::string_view in_shared_memory =
    "within a node messages along trees of four, in the place of MPICH's buffers in shared memory";

// Whether there are communicators within and between nodes (src/mpi/comm/commutil.c, MPIR_Comm_create_subcomms): with
// one node, too.
bool has_stages(const Layout& layout) { return layout.nodes() < layout.ranks(); }

Rule alltoall(const Layout& layout, std::uint64_t bytes) {
  const std::size_t ranks = ranks_of(layout);
  if (ranks >= few_ranks && bytes <= 256) {
    return {"brucks", "bruck", ""};
  }
  if (bytes > 32768) {
    return {"pairwise", "pairwise",
            std::has_single_bit(ranks) ? "partners by distance, in the place of the exclusive or of their numbers"
                                       : ""};
  }
  if (ranks <= throttle) {
    return {"scattered", "nonblocking", ""};
  }
  return {"scattered", choice_of("batched", {{"batch", std::to_string(throttle)}}),
          "the rank itself is not one of the first 32"};
}

Rule alltoallv(const Layout& layout) {
  Rule rule = alltoall(layout, 32768);
  rule.algorithm = "scattered";
  return rule;
}

// The factors of a stage, or of all ranks.
struct Stage {
  std::string_view algorithm;
  std::string factors;
};
Stage allreduce_stage(std::size_t members, const LibraryCall& call) {
  if (call.bytes <= 8 || !call.commutative || elements_of(call) < std::bit_floor(members)) {
    return {"recursive_doubling", folded_twos(members, Signs::gathering)};
  }
  return {"reduce_scatter_allgather", folded_twos(members, Signs::both)};
}

Rule allreduce(const Layout& layout, const LibraryCall& call) {
  if (!has_stages(layout) || !call.commutative) {
    const Stage stage = allreduce_stage(ranks_of(layout), call);
    return {stage.algorithm, choice_of("building-blocks", {{"factors", stage.factors}, {"part", "1"}}), ""};
  }
  if (layout.nodes() == 1) {
    return {"composition gamma: release_gather", "hierarchical", in_shared_memory};
  }
  const Stage stage = allreduce_stage(static_cast<std::size_t>(layout.nodes()), call);
  return {stage.algorithm == "recursive_doubling" ? "composition alpha: recursive_doubling between nodes"
                                                  : "composition alpha: reduce_scatter_allgather between nodes",
          choice_of("hierarchical", {{"between", stage.factors}, {"part", "1"}}), in_shared_memory};
}

// Among all ranks, each on a node of its own.
Rule flat_reduce(std::size_t ranks, const LibraryCall& call) {
  if (call.bytes <= 2048 || !call.commutative || elements_of(call) < std::bit_floor(ranks)) {
    return {"binomial", choice_of("tree", {{"factors", factors_of(2, ranks, Signs::dividing)}}), ""};
  }
  return {"reduce_scatter_gather", halving("1", ranks),
          std::has_single_bit(ranks) ? "each rank sends its part to the root itself"
                                     : "cyclic shift, in the place of a power of two of the ranks; "
                                       "each rank sends its part to the root itself"};
}

Rule reduce(const Layout& layout, const LibraryCall& call) {
  if (!has_stages(layout) || !call.commutative) {
    return flat_reduce(ranks_of(layout), call);
  }
  const auto nodes = static_cast<std::size_t>(layout.nodes());
  const std::string choice = choice_of("hierarchical", {{"between", factors_of(2, nodes, Signs::dividing)}});
  if (call.bytes <= 2048) {
    return {"composition beta: binomial between nodes", choice, in_shared_memory};
  }
  if (nodes == 1 || elements_of(call) < std::bit_floor(nodes)) {
    return {"composition alpha: binomial between nodes", choice, in_shared_memory};
  }
  return {"composition alpha: reduce_scatter_gather between nodes", choice,
          "within a node messages along trees of four, in the place of buffers in shared memory; "
          "between nodes a binomial tree, in the place of reduce_scatter and gather"};
}

Rule flat_bcast(std::size_t ranks, std::uint64_t bytes) {
  if (ranks < few_ranks || bytes <= short_bcast) {
    return {"binomial", choice_of("tree", {{"factors", factors_of(2, ranks, Signs::gathering)}}), ""};
  }
  if (std::has_single_bit(ranks) && bytes <= long_bcast) {
    return {"scatter_recursive_doubling_allgather",
            choice_of("scatter-allgather", {{"factors", scatter_and_allgather(ranks)}, {"part", "1"}}),
            "Bruck's allgather among all ranks but the root"};
  }
  return {"scatter_ring_allgather",
          choice_of("scatter-ring", {{"factors", factors_of(2, ranks, Signs::gathering)}, {"part", "1"}}),
          "nothing is sent to the root, which has all parts"};
}

Rule bcast(const Layout& layout, const LibraryCall& call) {
  const std::size_t ranks = ranks_of(layout);
  const bool divided = call.bytes >= short_bcast && ranks >= few_ranks; // not composition alpha
  if (!has_stages(layout) || (divided && (!std::has_single_bit(ranks) || call.bytes >= long_bcast))) {
    return flat_bcast(ranks, call.bytes);
  }
  const auto nodes = static_cast<std::size_t>(layout.nodes());
  if (nodes < few_ranks || call.bytes <= short_bcast) {
    return {divided ? "composition beta: binomial between nodes" : "composition alpha: binomial between nodes",
            choice_of("hierarchical", {{"between", factors_of(2, nodes, Signs::gathering)}}), in_shared_memory};
  }
  return {"composition beta: scatter and allgather between nodes",
          choice_of("hierarchical", {{"between", scatter_and_allgather(nodes)}, {"part", "1"}}),
          "within a node messages along trees of four, in the place of buffers in shared memory; "
          "between nodes Bruck's allgather among all but the root's"};
}

Rule reduce_scatter(const Layout& layout, const LibraryCall& call) {
  const std::size_t ranks = ranks_of(layout);
  if (!call.commutative) {
    return std::has_single_bit(ranks)
               ? Rule{"noncommutative", halving("", ranks), "without a last exchange of blocks"}
               : Rule{"recursive_doubling", "recursive-exchange", "divides, in the place of exchanging all blocks"};
  }
  if (call.bytes * ranks < 524288) {
    return {"recursive_halving", halving("", ranks),
            std::has_single_bit(ranks) ? "" : "cyclic shift, in the place of a power of two of the ranks"};
  }
  return {"pairwise", choice_of("recursive-exchange", {{"factors", all_at_once(ranks, Signs::dividing)}}),
          "all messages at once, in the place of one after the other"};
}

Rule allgather(const Layout& layout, std::uint64_t bytes) {
  const std::size_t ranks = ranks_of(layout);
  const bool doubles = std::has_single_bit(ranks);
  const std::string twos = factors_of(2, ranks, Signs::gathering);
  if (bytes * ranks >= (doubles ? 524288U : 81920U)) {
    return {"ring", "ring", ""};
  }
  return doubles ? Rule{"recursive_doubling", choice_of("recursive-exchange", {{"factors", twos}}), ""}
                 : Rule{"brucks", choice_of("cyclic-shift", {{"factors", twos}}), ""};
}

Rule barrier(const Layout& layout) {
  const auto nodes = static_cast<std::size_t>(layout.nodes());
  if (has_stages(layout)) {
    return {"composition alpha: dissemination between nodes",
            choice_of("node-aware", {{"between", factors_of(2, nodes, Signs::gathering)}}),
            "within a node messages to and from one rank, in the place of flags in shared memory"};
  }
  return {"dissemination", choice_of("cyclic-shift", {{"factors", factors_of(2, nodes, Signs::gathering)}}), ""};
}

} // namespace

Rule mpich_rule(const Layout& layout, const LibraryCall& call) {
  const std::size_t ranks = ranks_of(layout);
  const auto tree = [](const std::string& factors) { return choice_of("tree", {{"factors", factors}}); };
  switch (call.collective) {
  case Collective::alltoall:
    return alltoall(layout, call.bytes);
  case Collective::alltoallv:
    return alltoallv(layout);
  case Collective::allreduce:
    return allreduce(layout, call);
  case Collective::reduce:
    return reduce(layout, call);
  case Collective::bcast:
    return bcast(layout, call);
  case Collective::reduce_scatter:
  case Collective::reduce_scatter_block:
    return reduce_scatter(layout, call);
  case Collective::allgather:
  case Collective::allgatherv:
    return allgather(layout, call.bytes);
  case Collective::gather:
    return {"binomial", tree(factors_of(2, ranks, Signs::dividing)), ""};
  case Collective::scatter:
    return {"binomial", tree(factors_of(2, ranks, Signs::gathering)), ""};
  case Collective::gatherv:
    return {"linear", tree(all_at_once(ranks, Signs::dividing)), ""};
  case Collective::scatterv:
    return {"linear", tree(all_at_once(ranks, Signs::gathering)), ""};
  case Collective::barrier:
    return barrier(layout);
  default:
    return {};
  }
}

} // namespace stoker::algos
