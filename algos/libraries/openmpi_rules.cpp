// SPDX-License-Identifier: BSD-3-Clause
// Open MPI 4.1: the component "tuned", which has the highest priority of those that are built in (han, adapt and sm
// have 0), with its fixed decisions and the parameters that these pass on: no segments (segsize 0), chains of one rank
// each, trees of radix 4 (bcast_algorithm_knomial_radix), and alltoalls without a limit of outstanding requests
// (alltoall_algorithm_max_requests). The algorithms, and when they hand over to others, are in ompi/mca/coll/base.
// gatherv and scatterv are those of the component "basic". Open MPI 5 takes han where there are several nodes.
// SimGrid's selector "ompi" has the rules of Open MPI 1: Bruck below 200 bytes for more than 12 ranks, and so on.
#include "algos/libraries/openmpi_tables.hpp"
#include "algos/libraries/rules.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>

namespace stoker::algos {

namespace {

using topology::Layout;

int algorithm_of(std::span<const openmpi::Row> table, std::size_t ranks, std::uint64_t bytes) {
  const auto row = std::ranges::find_if(table, [&](const openmpi::Row& r) { return ranks < r.ranks_below; });
  int algorithm = 0;
  for (const openmpi::From& from : row->from) {
    if (from.algorithm != 0 && bytes >= from.bytes) {
      algorithm = from.algorithm;
    }
  }
  return algorithm;
}

constexpr std::string_view binary_tree = "a binomial tree, in the place of a binary one";
constexpr std::string_view by_nodes = "node by node from the root on, in the place of the order of the ranks";

std::string twos(std::size_t ranks, Signs signs) { return factors_of(2, ranks, signs); }
std::string tree(const std::string& factors) { return choice_of("tree", {{"factors", factors}}); }

Rule alltoall(int algorithm) {
  switch (algorithm) {
  case 1:
    return {"linear", "nonblocking", ""};
  case 2:
    return {"pairwise", "pairwise", ""};
  case 3:
    return {"modified_bruck", "bruck", ""};
  case 4:
    return {"linear_sync", "nonblocking", ""};
  default:
    return {"two_proc", "nonblocking", ""};
  }
}

// One segment: the whole vector.
Rule chain(std::string_view name, const LibraryCall& call) {
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  return {name, choice_of("chain", {{"fixed", std::to_string(std::clamp<std::uint64_t>(call.bytes, 1, most))}}),
          by_nodes};
}

Rule reduce(std::size_t ranks, const LibraryCall& call) {
  const int algorithm = call.commutative ? algorithm_of(openmpi::reduce, ranks, call.bytes)
                                         : algorithm_of(openmpi::reduce_in_order, ranks, call.bytes);
  const std::string binomial = tree(twos(ranks, Signs::dividing));
  const std::string linear = tree(all_at_once(ranks, Signs::dividing));
  switch (algorithm) {
  case 1:
    return {"linear", linear, ""};
  case 2:
    return chain("chain", call);
  case 3:
    return chain("pipeline", call);
  case 4:
    return {"binary", binomial, binary_tree};
  case 5:
    return {"binomial", binomial, ""};
  case 6:
    return {"in-order_binary", binomial, binary_tree};
  default:
    if (elements_of(call) < std::bit_floor(ranks)) {
      return {"rabenseifner, for few elements linear", linear, ""};
    }
    return {"rabenseifner", halving("1", ranks), "each rank sends its part to the root itself"};
  }
}

Rule bcast(std::size_t ranks, const LibraryCall& call) {
  const std::string binomial = tree(twos(ranks, Signs::gathering));
  const std::string linear = tree(all_at_once(ranks, Signs::gathering));
  switch (algorithm_of(openmpi::bcast, ranks, call.bytes)) {
  case 1:
    return {"basic_linear", linear, ""};
  case 2:
    return chain("chain", call);
  case 3:
    return chain("pipeline", call);
  case 4:
    return {"split_binary_tree", binomial, "a binomial tree, in the place of two binary ones with a half each"};
  case 5:
    return {"binary_tree", binomial, binary_tree};
  case 6:
    return {"binomial", binomial, ""};
  case 7:
    return {"knomial", tree(factors_of(4, ranks, Signs::gathering)), ""};
  default:
    if (elements_of(call) < ranks) {
      return {"scatter_allgather, for few elements linear", linear, ""};
    }
    return {"scatter_allgather",
            choice_of("scatter-allgather", {{"factors", scatter_and_allgather(ranks)}, {"part", "1"}}),
            "Bruck's allgather among all ranks but the root"};
  }
}

// The factors of a tree's choice. Every reduce and bcast that an allreduce is made of here is a tree.
std::string factors_in(const std::string& choice) {
  const std::size_t equals = choice.find('=');
  return equals == std::string::npos ? "" : choice.substr(equals + 1);
}

Rule allreduce(std::size_t ranks, const LibraryCall& call) {
  Rule doubling = {"recursive_doubling",
                   choice_of("building-blocks", {{"factors", folded_twos(ranks, Signs::gathering)}, {"part", "1"}}),
                   ""};
  const std::string linear = tree(all_at_once(ranks, Signs::both));
  const int algorithm = call.commutative ? algorithm_of(openmpi::allreduce, ranks, call.bytes)
                                         : algorithm_of(openmpi::allreduce_in_order, ranks, call.bytes);
  switch (algorithm) {
  case 1:
    return {"basic_linear", linear, ""};
  case 2: {
    const Rule up = reduce(ranks, call);
    const Rule down = bcast(ranks, call);
    const std::string factors = factors_in(up.choice) + " " + factors_in(down.choice);
    return {"nonoverlapping", tree(factors), up.difference.empty() ? down.difference : up.difference};
  }
  case 3:
    return doubling;
  case 4:
  case 5: {
    // Without segments both are the same, and need an element for each rank.
    const std::string_view name = algorithm == 4 ? "ring" : "segmented_ring";
    return elements_of(call) < ranks ? Rule{name, doubling.choice, "recursive doubling, as the library does for so few"}
                                     : Rule{name, choice_of("ring", {{"part", "1"}}), ""};
  }
  default:
    if (elements_of(call) < std::bit_floor(ranks)) {
      return {"rabenseifner, for few elements basic_linear", linear, ""};
    }
    return {"rabenseifner", choice_of("building-blocks", {{"factors", folded_twos(ranks, Signs::both)}, {"part", "1"}}),
            std::has_single_bit(ranks) ? "" : "ranks beyond a power of two send all of their vectors, not halves"};
  }
}

constexpr std::string_view divides = "divides the vector, in the place of reduce and scatter";
constexpr std::string_view cyclic = "cyclic shift, in the place of a power of two of the ranks";

Rule reduce_scatter(std::size_t ranks, const LibraryCall& call) {
  if (!call.commutative) {
    return {"non-overlapping", "recursive-exchange", divides};
  }
  const std::string halves = halving("", ranks);
  const bool folds = !std::has_single_bit(ranks);
  switch (algorithm_of(openmpi::reduce_scatter, ranks, call.bytes * ranks)) {
  case 1:
    return {"non-overlapping", halves, divides};
  case 2:
    return {"recursive_halving", halves, folds ? cyclic : ""};
  case 3:
    return {"ring", "ring", ""};
  default:
    return {"butterfly", halves, folds ? cyclic : "without a last exchange of blocks"};
  }
}

Rule reduce_scatter_block(std::size_t ranks, const LibraryCall& call) {
  if (!call.commutative) {
    return {"basic_linear", "recursive-exchange", divides};
  }
  const std::string halves = halving("", ranks);
  const bool folds = !std::has_single_bit(ranks);
  switch (algorithm_of(openmpi::reduce_scatter_block, ranks, call.bytes)) {
  case 1:
    return {"basic_linear", halves, divides};
  case 2:
    return {"recursive_doubling", halves, "divides the vector, in the place of exchanging all blocks"};
  case 3:
    return {"recursive_halving", halves, folds ? cyclic : ""};
  default:
    return {"butterfly", halves, folds ? cyclic : "without a last exchange of blocks"};
  }
}

Rule allgather(std::size_t ranks, const LibraryCall& call) {
  const std::string factors = twos(ranks, Signs::gathering);
  const std::string bruck = choice_of("cyclic-shift", {{"factors", factors}});
  switch (algorithm_of(openmpi::allgather, ranks, call.bytes)) {
  case 2:
    return {"bruck", bruck, ""};
  case 3:
    return std::has_single_bit(ranks)
               ? Rule{"recursive_doubling", choice_of("recursive-exchange", {{"factors", factors}}), ""}
               : Rule{"recursive_doubling, for other numbers of ranks bruck", bruck, ""};
  case 4:
    return {"ring", "ring", ""};
  case 5:
    return {"neighbor", "neighbor-exchange", ""};
  default:
    return {"two_proc", bruck, ""};
  }
}

Rule allgatherv(std::size_t ranks, const LibraryCall& call) {
  const std::string bruck = choice_of("cyclic-shift", {{"factors", twos(ranks, Signs::gathering)}});
  switch (algorithm_of(openmpi::allgatherv, ranks, call.bytes)) {
  case 1:
    return {"default", bruck, "Bruck's, in the place of a gather to one rank and its broadcast"};
  case 2:
    return {"bruck", bruck, ""};
  case 3:
    return {"ring", "ring", ""};
  case 4:
    return {"neighbor", "neighbor-exchange", ""};
  default:
    return {"two_proc", bruck, ""};
  }
}

Rule gather(std::size_t ranks, std::uint64_t bytes) {
  const std::string linear = tree(all_at_once(ranks, Signs::dividing));
  switch (algorithm_of(openmpi::gather, ranks, bytes)) {
  case 1:
    return {"basic_linear", linear, ""};
  case 2:
    return {"binomial", tree(twos(ranks, Signs::dividing)), ""};
  default:
    return {"linear_sync", linear, "whole blocks, which need not wait for the root"};
  }
}

Rule scatter(std::size_t ranks, std::uint64_t bytes) {
  const std::string linear = tree(all_at_once(ranks, Signs::gathering));
  switch (algorithm_of(openmpi::scatter, ranks, bytes)) {
  case 1:
    return {"basic_linear", linear, ""};
  case 2:
    return {"binomial", tree(twos(ranks, Signs::gathering)), ""};
  default:
    return {"linear_nb", linear, ""};
  }
}

Rule barrier(std::size_t ranks) {
  const std::string dissemination = choice_of("cyclic-shift", {{"factors", twos(ranks, Signs::gathering)}});
  switch (algorithm_of(openmpi::barrier, ranks, 0)) {
  case 1:
    return {"linear", "tree", "a tree with four children, in the place of one rank that hears from all"};
  case 3:
    return {"recursive_doubling", dissemination, "dissemination, with other partners"};
  case 4:
    return {"bruck", dissemination, ""};
  default:
    return {"tree", "tree", "four children, in the place of a binomial tree"};
  }
}

} // namespace

Rule openmpi_rule(const Layout& layout, const LibraryCall& call) {
  const std::size_t ranks = ranks_of(layout);
  switch (call.collective) {
  case Collective::alltoall:
    return alltoall(algorithm_of(openmpi::alltoall, ranks, call.bytes));
  case Collective::alltoallv:
    return alltoall(algorithm_of(openmpi::alltoallv, ranks, 0));
  case Collective::allreduce:
    return allreduce(ranks, call);
  case Collective::reduce:
    return reduce(ranks, call);
  case Collective::bcast:
    return bcast(ranks, call);
  case Collective::reduce_scatter:
    return reduce_scatter(ranks, call);
  case Collective::reduce_scatter_block:
    return reduce_scatter_block(ranks, call);
  case Collective::allgather:
    return allgather(ranks, call);
  case Collective::allgatherv:
    return allgatherv(ranks, call);
  case Collective::gather:
    return gather(ranks, call.bytes);
  case Collective::scatter:
    return scatter(ranks, call.bytes);
  case Collective::gatherv:
    return {"linear", tree(all_at_once(ranks, Signs::dividing)), ""};
  case Collective::scatterv:
    return {"linear", tree(all_at_once(ranks, Signs::gathering)), ""};
  case Collective::barrier:
    return barrier(ranks);
  default:
    return {};
  }
}

} // namespace stoker::algos
