// SPDX-License-Identifier: BSD-3-Clause
// The default choice of an algorithm.
#include "algos/select/selection.hpp"

#include "algos/collectives/chain.hpp"
#include "algos/collectives/lanes.hpp"

#include <algorithm>

namespace stoker::algos {

namespace {

// The numbers of groups and leaders that an algorithm has by default may be 1 on small nodes; it is then a simpler one.
bool is_degenerate(const Choice& choice) { return choice.tuning.leaders == 1 || choice.tuning.groups == 1; }

} // namespace

std::vector<Choice> candidates(Collective collective, const topology::Layout& layout) {
  std::vector<Choice> result = {resolve(parse_choice(collective, "nonblocking"), layout)};
  if (layout.nodes() == 1 || layout.nodes() == layout.ranks()) {
    return result;
  }
  for (const std::string_view name :
       {"hierarchical", "node-aware", "multileader-node-aware", "locality-aware", "multileader", "radix2"}) {
    const Algorithm* algorithm = find(collective, name);
    if (algorithm == nullptr || (algorithm->knowledge == Knowledge::all && collective != Collective::alltoall)) {
      continue;
    }
    if (const Choice choice = resolve({algorithm, {}}, layout); !is_degenerate(choice)) {
      result.push_back(choice);
    }
  }
  return result;
}

std::vector<Choice> vector_candidates(Collective collective, const topology::Layout& layout, bool commutative,
                                      std::uint64_t bytes) {
  std::vector<Choice> result;
  const auto add = [&](const std::string& text) {
    const Choice choice = resolve(parse_choice(collective, text), layout);
    const bool known = std::ranges::any_of(result, [&](const Choice& other) {
      return other.algorithm == choice.algorithm && other.tuning == choice.tuning;
    });
    if (!known && (commutative || !choice.algorithm->commutative)) {
      result.push_back(choice);
    }
  };
  constexpr int few = 16; // so many messages at once are no burden
  const bool aggregates = layout.nodes() > 1 && layout.nodes() < layout.ranks();
  const bool any_order =
      (!combines(collective) || commutative) && collective != Collective::scan && collective != Collective::exscan;
  if (aggregates && (any_order || nodes_in_order(layout))) {
    const bool has_lanes = find(collective, "node-aware")->parameters.front().number != nullptr;
    for (const std::string_view lanes : {":lanes=1", ":lanes=domains", ":"}) {
      if (lanes == ":lanes=domains" && layout.domains() == layout.nodes()) {
        continue;
      }
      const std::string text = "node-aware" + std::string(has_lanes && lanes != ":" ? lanes : "");
      if (collective == Collective::allreduce && layout.nodes() <= few) {
        add(text + (lanes == ":" ? ":" : ",") + "between=" + std::to_string(layout.nodes()));
      }
      add(text);
    }
  }
  if (collective == Collective::allreduce && layout.ranks() <= few && layout.ranks() > 1) {
    add("recursive-exchange:factors=" + std::to_string(layout.ranks()));
  }
  const bool long_enough = bytes >= static_cast<std::uint64_t>(layout.ranks()) * least_chain_bytes_per_rank;
  for (const Algorithm& algorithm : algorithms_of(collective)) {
    if (algorithm.name != "node-aware" && (algorithm.name != "chain" || (layout.nodes() > 1 && long_enough))) {
      add(std::string(algorithm.name));
    }
  }
  return result;
}

std::size_t preferred(std::span<const double> seconds) {
  // The model is not more exact than that, and simple schedules have fewer parts that can be slow.
  constexpr double close = 1.1;
  const double least = *std::ranges::min_element(seconds);
  return static_cast<std::size_t>(std::ranges::find_if(seconds, [&](double s) { return s <= close * least; }) -
                                  seconds.begin());
}

NodeLoad::NodeLoad(Driver driver, const topology::Layout& layout, int node) : driver_(driver), layout_(layout) {
  int last = 0;
  first_domain_ = layout.domains();
  for (const int rank : layout.node_ranks(node)) {
    first_domain_ = std::min(first_domain_, layout.domain_of(rank));
    last = std::max(last, layout.domain_of(rank));
  }
  // Domains of a node may be numbered in any order among others: there may be gaps, which cost nothing.
  sums_.resize(2 + static_cast<std::size_t>(last - first_domain_ + 1), 0);
}

void NodeLoad::add(int rank, const Load& load) {
  sums_[0] += load.port_out;
  sums_[1] += load.port_in;
  longest_ = std::max(longest_, load.chain);
  if (driver_ == Driver::rank) {
    longest_ = std::max({longest_, load.sending, load.receiving});
  } else {
    sums_[2 + static_cast<std::size_t>(layout_.domain_of(rank) - first_domain_)] += load.sending + load.receiving;
  }
}

double NodeLoad::seconds() const { return std::max(longest_, *std::ranges::max_element(sums_)); }

double expected_seconds(const Choice& choice, const topology::Layout& layout, std::uint64_t bytes,
                        const CostModel& model, Driver driver) {
  const auto sizes = BlockSizes::uniform(layout.ranks(), bytes);
  const std::vector<std::uint64_t> offsets = equal_offsets(layout.ranks(), bytes);
  NodeLoad node(driver, layout, 0);
  for (const int rank : layout.node_ranks(0)) {
    const std::vector<std::uint64_t> puts(offsets.size(), offsets[static_cast<std::size_t>(rank)]);
    const Exchange exchange{.layout = layout,
                            .rank = rank,
                            .sizes = sizes,
                            .send_offsets = offsets,
                            .recv_offsets = offsets,
                            .put_offsets = puts};
    node.add(rank, load_of(compile(choice, exchange), layout, model));
  }
  return node.seconds();
}

} // namespace stoker::algos
