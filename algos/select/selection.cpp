// SPDX-License-Identifier: BSD-3-Clause
// The default choice of an algorithm.
#include "algos/select/selection.hpp"

#include "algos/collectives/chain.hpp"
#include "algos/collectives/lanes.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

namespace stoker::algos {

namespace {

// Whether it tells nodes apart, which makes sense where there are several, of several ranks.
bool knows_nodes(const Algorithm& algorithm) {
  constexpr std::array<std::string_view, 5> names = {"between", "r2", "lanes", "leaders", "groups"};
  return pattern_of(algorithm.collective) == Pattern::neighborhood
             ? algorithm.knowledge == Knowledge::node
             : std::ranges::any_of(algorithm.parameters, [&](const Parameter& parameter) {
                 return std::ranges::find(names, parameter.name) != names.end();
               });
}

// Whether the operands of a node's ranks may be combined before others.
bool combines_by_node(Collective collective, const topology::Layout& layout, bool commutative) {
  const bool any_order =
      (!combines(collective) || commutative) && collective != Collective::scan && collective != Collective::exscan;
  return any_order || nodes_in_order(layout);
}

// In chains a vector goes from rank to rank in segments, or a part at a time: what a rank does does not tell how many
// are before it. To compile a rank's program for swing, or for one of bine's butterflies, takes time for all ranks in
// each step.
bool is_worth_a_try(const Algorithm& algorithm, const topology::Layout& layout, std::uint64_t bytes) {
  constexpr int few_ranks = 512;
  if (algorithm.name == "swing" || (algorithm.name == "bine" && !has_root(algorithm.collective))) {
    return layout.ranks() <= few_ranks;
  }
  return (algorithm.name != "chain" && algorithm.name != "scatter-ring") ||
         bytes >= static_cast<std::uint64_t>(layout.ranks()) * least_chain_bytes_per_rank;
}

} // namespace

bool takes_any_operation(const Choice& choice, const topology::Layout& layout) {
  if (choice.algorithm->commutative || choice.algorithm->fixed_order) {
    return !choice.algorithm->commutative; // whatever the list of factors, and wherever the ranks are
  }
  const auto ranks = static_cast<std::size_t>(layout.ranks());
  DistributedVector vector{.layout = layout, .commutative = false};
  vector.sizes.assign(has_blocks(choice.algorithm->collective) ? ranks : 1, 1);
  vector.offsets = equal_offsets(static_cast<int>(vector.sizes.size()), 1);
  try {
    static_cast<void>(compile(choice, vector));
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::vector<Choice> candidates(Collective collective, const topology::Layout& layout, std::uint64_t bytes,
                               bool commutative, Breadth breadth) {
  const bool has_shared_nodes = layout.nodes() > 1 && layout.nodes() < layout.ranks();
  std::vector<Choice> result;
  for (const Algorithm& algorithm : algorithms_of(collective)) {
    const bool fits = (commutative || !algorithm.commutative) && !algorithm.puts_into &&
                      (breadth == Breadth::many || is_worth_a_try(algorithm, layout, bytes));
    if (fits && (!knows_nodes(algorithm) || (has_shared_nodes && combines_by_node(collective, layout, commutative)))) {
      for (const Choice& choice : family(algorithm, layout, bytes, breadth)) {
        if ((collective != Collective::alltoallv || knowledge_of(choice) != Knowledge::all) &&
            (commutative || !combines(collective) || takes_any_operation(choice, layout))) {
          result.push_back(choice);
        }
      }
    }
  }
  return result;
}

std::size_t preferred(std::span<const double> seconds) {
  constexpr double close = 1.01; // simple schedules have fewer parts that can be slow
  const double least = *std::ranges::min_element(seconds);
  return static_cast<std::size_t>(std::ranges::find_if(seconds, [&](double s) { return s <= close * least; }) -
                                  seconds.begin());
}

} // namespace stoker::algos
