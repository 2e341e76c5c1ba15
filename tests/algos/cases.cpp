// SPDX-License-Identifier: BSD-3-Clause
// The cases that every algorithm has to pass.
#include "cases.hpp"

#include "algos/schedule/print.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <random>
#include <stdexcept>

namespace stoker::tests {

using algos::WholeExchange;
using topology::Layout;
using topology::Place;

namespace {

// Nodes of 1, 2, 3, ... ranks, the last of what is left.
Layout ragged(int ranks) {
  std::vector<Place> places;
  for (int node = 0; static_cast<int>(places.size()) < ranks; ++node) {
    for (int i = 0; i <= node && static_cast<int>(places.size()) < ranks; ++i) {
      places.push_back({node, i / 2});
    }
  }
  return Layout(std::move(places));
}

Layout shuffled(int ranks) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(ranks)));
  return ragged(ranks).restricted_to(order);
}

// Mirrors each buffer, so that the last rank's block comes first.
void reverse_blocks(WholeExchange& exchange) {
  const auto mirror = [](std::vector<std::uint64_t>& offsets, auto size) {
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      end = std::max(end, offsets[i] + size(i));
    }
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      offsets[i] = end - offsets[i] - size(i);
    }
  };
  const auto& sizes = exchange.sizes;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    if (!exchange.in_place) {
      mirror(exchange.send_offsets[rank], [&](std::size_t target) { return sizes[rank][target]; });
    }
    mirror(exchange.recv_offsets[rank], [&](std::size_t source) { return sizes[source][rank]; });
  }
}

} // namespace

std::vector<algos::Choice> rows() {
  std::vector<algos::Choice> result;
  for (const auto collective : {algos::Collective::alltoall, algos::Collective::alltoallv}) {
    for (const algos::Algorithm& algorithm : algos::algorithms_of(collective)) {
      result.push_back({&algorithm, {}});
    }
  }
  return result;
}

std::vector<algos::Choice> choices() {
  std::vector<algos::Choice> result = rows();
  for (const auto collective : {algos::Collective::alltoall, algos::Collective::alltoallv}) {
    for (const char* text : {
             "batched:batch=1",
             "batched:batch=3",
             "radix:r=2",
             "radix:r=3",
             "radix:r=4",
             "radix:r=7",
             "radix2:r1=2,r2=2",
             "radix2:r1=3,r2=3",
             "hierarchical:between=pairwise",
             "hierarchical:between=bruck",
             "multileader:leaders=2",
             "multileader:leaders=2,between=batched-2",
             "multileader:leaders=3,between=radix-3",
             "multileader:leaders=domains",
             "node-aware:between=pairwise,within=pairwise",
             "node-aware:between=radix,within=bruck",
             "node-aware:between=bruck,within=batched-2",
             "locality-aware:groups=2",
             "locality-aware:groups=2,between=radix-3,within=bruck",
             "locality-aware:groups=3,between=pairwise,within=nonblocking",
             "locality-aware:groups=domains",
             "multileader-node-aware:leaders=2",
             "multileader-node-aware:leaders=3,between=bruck,within=radix-3",
             "multileader-node-aware:leaders=domains,between=pairwise,within=pairwise",
         }) {
      result.push_back(algos::parse_choice(collective, text));
    }
  }
  return result;
}

std::vector<algos::Choice> vector_choices() {
  using algos::Collective;
  std::vector<algos::Choice> result;
  for (const algos::Algorithm& algorithm : algos::registry()) {
    if (algos::pattern_of(algorithm.collective) == algos::Pattern::distributed_vector) {
      result.push_back({&algorithm, {}});
    }
  }
  const auto add = [&](Collective collective, std::initializer_list<const char*> texts) {
    for (const char* text : texts) {
      result.push_back(algos::parse_choice(collective, text));
    }
  };
  add(Collective::allreduce, {"recursive-exchange:factors=-4 -2 2 4",
                              "recursive-exchange:factors=-2 2 2",
                              "recursive-exchange:factors=2 2 2",
                              "recursive-exchange:factors=-2 -2 2 4",
                              "recursive-exchange:factors=3 2",
                              "recursive-exchange:factors=-3 2 3",
                              "recursive-exchange:factors=-2 2 2 2",
                              "recursive-exchange:factors=-5 5,fixed=3",
                              "recursive-exchange:factors=-8 2 4,part=4",
                              "cyclic-shift:factors=-2 -2 -2 2 2 2",
                              "cyclic-shift:factors=-7 7",
                              "cyclic-shift:factors=-2 -3 3 2,part=2",
                              "cyclic-shift:factors=-2 -2 -3 3 3",
                              "cyclic-shift:factors=-2 -2 2 3",
                              "cyclic-shift:factors=-3 2 2 2,part=1",
                              "cyclic-shift:factors=2 4",
                              "tree:factors=-4 -2 2 4",
                              "tree:factors=-3 -3 2 2 2",
                              "building-blocks:part=1",
                              "building-blocks:factors=2 2",
                              "building-blocks:factors=-2 2 2 2,part=1",
                              "ring:part=1",
                              "hierarchical:between=2 2,part=1",
                              "hierarchical:between=-2 2,part=1",
                              "hierarchical:within=-2 -2 2 2,part=1",
                              "cyclic-copy-in:part=1",
                              "bine:part=1",
                              "swing:part=1",
                              "swing:dims=2 4,part=1",
                              "swing:dims=6 2,part=1",
                              "two-tree:part=1",
                              "node-aware:lanes=1",
                              "node-aware:lanes=2,between=-2 2",
                              "node-aware:lanes=1,between=2",
                              "node-aware:lanes=domains",
                              "node-aware:lanes=2,between=-2 2 2",
                              "node-aware:between=-2 -2 2 2,part=1",
                              "locality-aware:groups=2,between=2 2 2",
                              "locality-aware:groups=domains,between=17",
                              "locality-aware:between=-2 -2 2 2,part=1",
                              "multileader:leaders=2",
                              "multileader:leaders=3,between=-3 -3 3 3,part=1",
                              "multileader:leaders=domains,between=5 5"});
  if (most_ranks >= 24) { // a torus takes its own number of ranks alone
    add(Collective::allreduce, {"swing:dims=6 4,part=1", "swing:dims=2 4 2,part=1"});
  }
  add(Collective::reduce, {"tree:factors=-2 -2 -2", "recursive-exchange:factors=-2 -3,part=1",
                           "cyclic-shift:factors=-2 -2 -2,part=1", "chain:part=1", "chain:fixed=3",
                           "node-aware:lanes=1", "node-aware:lanes=2,part=1", "hierarchical:within=-2 -2"});
  add(Collective::bcast,
      {"tree:factors=2 2 2", "scatter-allgather:part=1", "scatter-allgather:factors=-2 -2 -2 2 2 2,part=1",
       "scatter-ring:factors=2 2 2,part=1", "hierarchical:between=-2 -2 2 2,part=1", "hierarchical:between=-3 2,part=1",
       "hierarchical:within=2 2", "chain:part=1", "chain:fixed=3", "node-aware:lanes=1", "node-aware:lanes=2,part=1"});
  add(Collective::reduce_scatter,
      {"recursive-exchange:factors=-2 -4", "cyclic-shift:factors=-3 -3", "node-aware:lanes=1", "node-aware:lanes=2",
       "locality-aware:groups=2,between=-2 -2 -2", "multileader:leaders=domains,between=-3 -3"});
  add(Collective::allgatherv,
      {"recursive-exchange:factors=4 2", "cyclic-shift:factors=3 3", "node-aware:lanes=1", "node-aware:lanes=2",
       "locality-aware:groups=2,between=2 2 2", "multileader:leaders=domains,between=3 3"});
  add(Collective::gatherv, {"tree:factors=-2 -2 -2", "tree:factors=-33"});
  add(Collective::scatterv, {"tree:factors=2 2 2"});
  add(Collective::scan, {"cyclic-shift:factors=2 2 2", "cyclic-shift:factors=3 3"});
  return result;
}

std::string test_name(const algos::Choice& choice) {
  std::string name = std::string(name_of(choice.algorithm->collective)) + "_" +
                     (is_default(choice) ? std::string(choice.algorithm->name) : algos::to_text(choice));
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

bool applies(const algos::Choice& choice, const topology::Layout& layout) {
  try {
    (void)algos::resolve(choice, layout);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

bool is_default(const algos::Choice& choice) { return choice.tuning == algos::Tuning{}; }

std::vector<NamedLayout> layouts_of(int ranks) {
  std::vector<NamedLayout> layouts;
  const auto add = [&](const std::string& name, Layout layout) {
    const bool known =
        std::any_of(layouts.begin(), layouts.end(), [&](const NamedLayout& other) { return other.layout == layout; });
    if (!known) {
      layouts.push_back({name, std::move(layout)});
    }
  };
  add("one node", Layout::uniform(ranks, ranks));
  for (const int per_node : {1, 2, 3, 4, 8}) {
    add(std::to_string(per_node) + " per node", Layout::uniform(ranks, per_node));
  }
  add("ragged", ragged(ranks));
  add("shuffled", shuffled(ranks));
  add("8 per node in 4 domains", Layout::uniform(ranks, 8, 4));
  return layouts;
}

std::vector<NamedExchange> exchanges_of(const Layout& layout, std::uint64_t bytes, bool in_place) {
  const auto n = static_cast<std::size_t>(layout.ranks());
  std::vector<NamedExchange> exchanges;
  const auto add = [&](const std::string& name, std::uint64_t gap, auto size) {
    WholeExchange::Table sizes(n, std::vector<std::uint64_t>(n));
    for (std::size_t source = 0; source < n; ++source) {
      for (std::size_t target = 0; target < n; ++target) {
        sizes[source][target] = in_place && target < source ? sizes[target][source] : size(source, target);
      }
    }
    exchanges.push_back({name, WholeExchange::ragged(layout, std::move(sizes), gap, in_place)});
  };
  const std::size_t one = n / 2;
  std::mt19937_64 random(n * 1000 + bytes);
  const auto any_size = [&](std::size_t, std::size_t) { return random() % 3 == 0 ? 0 : random() % (2 * bytes) + 1; };
  add("uniform", 0, [&](std::size_t, std::size_t) { return bytes; });
  add("nothing", 0, [](std::size_t, std::size_t) { return 0; });
  add("all to one", 0, [&](std::size_t, std::size_t target) { return target == one ? bytes : 0; });
  add("one to all", 0, [&](std::size_t source, std::size_t) { return source == one ? bytes : 0; });
  add("own blocks only", 0, [&](std::size_t source, std::size_t target) { return source == target ? bytes : 0; });
  add("random with zeros", 0, any_size);
  add("random with gaps, in reverse", 5 * bytes + 3, any_size);
  reverse_blocks(exchanges.back().exchange);
  return exchanges;
}

std::string programs_text(const std::vector<algos::Program>& programs) {
  std::string text;
  for (const algos::Program& program : programs) {
    text += algos::to_text(program);
  }
  return text.size() < 6000 ? text : "";
}

} // namespace stoker::tests
