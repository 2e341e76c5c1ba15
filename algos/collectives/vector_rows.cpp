// SPDX-License-Identifier: BSD-3-Clause
// One row per algorithm of every other collective.
#include "algos/collectives/factor_rules.hpp"
#include "algos/collectives/literature.hpp"
#include "algos/collectives/registry_rows.hpp"
#include "algos/collectives/vector_algorithms.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

namespace stoker::algos {

namespace {

using namespace literature;
using topology::Layout;

// ---- parameters ----

using Rule = std::string (*)(const FactorList&, std::size_t, Signs);
using Preset = FactorList (*)(std::size_t, Signs);

std::size_t ranks_of(const Layout& layout) { return static_cast<std::size_t>(layout.ranks()); }
std::size_t nodes_of(const Layout& layout) { return static_cast<std::size_t>(layout.nodes()); }

template <Preset preset, Rule rule, Signs signs>
constexpr Parameter factors{
    .name = "factors",
    .summary = signs == Signs::both       ? "list of factors, as in -4 -2 2 4"
               : signs == Signs::dividing ? "list of factors, as in -4 -2"
                                          : "list of factors, as in 2 4",
    .factors = &Tuning::factors,
    .preset_factors = [](const Layout& layout) { return preset(ranks_of(layout), signs); },
    .factors_defect = [](const FactorList& list, const Layout& layout) { return rule(list, ranks_of(layout), signs); }};
template <Preset preset, Rule rule, Signs signs>
constexpr Parameter factors_between{
    .name = "between",
    .summary = "list of factors between nodes",
    .factors = &Tuning::factors_between,
    .preset_factors = [](const Layout& layout) { return preset(nodes_of(layout), signs); },
    .factors_defect = [](const FactorList& list, const Layout& layout) { return rule(list, nodes_of(layout), signs); }};
// A list for recursive exchange where it is one, else for cyclic shift.
std::string exchange_or_cyclic_defect(const FactorList& list, std::size_t members, Signs signs) {
  const std::string defect = exchange_defect(list, members, signs);
  return defect.empty() || cyclic_defect(list, members, signs).empty() ? "" : defect;
}

std::int32_t smallest_node(const Layout& layout) {
  std::size_t least = layout.node_ranks(0).size();
  for (int node = 1; node < layout.nodes(); ++node) {
    least = std::min(least, layout.node_ranks(node).size());
  }
  return static_cast<std::int32_t>(least);
}
std::int32_t any_number(const Layout& /*layout*/) { return std::numeric_limits<std::int32_t>::max(); }
std::int32_t a_cache_line(const Layout& /*layout*/) { return 64; }
std::int32_t not_fixed(const Layout& /*layout*/) { return 0; }

constexpr Parameter lanes{.name = "lanes",
                          .summary = "ranks per node that reach other nodes, or domains",
                          .number = &Tuning::lanes,
                          .most = smallest_node,
                          .preset = smallest_node,
                          .domains = true};
constexpr Parameter part{.name = "part",
                         .summary = "least bytes of a part of the vector",
                         .number = &Tuning::part_bytes,
                         .most = any_number,
                         .preset = a_cache_line};
constexpr Parameter fixed{.name = "fixed",
                          .summary = "bytes of all parts but the last, in the place of equal ones; 0: equal",
                          .number = &Tuning::fixed_bytes,
                          .least = 0,
                          .most = any_number,
                          .preset = not_fixed};

template <Signs signs>
constexpr Parameter exchange_list = factors<exchange_factors, exchange_defect, signs>;
template <Signs signs>
constexpr Parameter cyclic_list = factors<cyclic_factors, cyclic_defect, signs>;
template <Signs signs>
constexpr Parameter tree_list = factors<cyclic_factors, tree_defect, signs>;
template <Signs signs>
constexpr Parameter flat_list_between = factors_between<exchange_or_cyclic_factors, exchange_or_cyclic_defect, signs>;
template <Signs signs>
constexpr Parameter tree_list_between = factors_between<cyclic_factors, tree_defect, signs>;

// ---- the rows ----

// `commutative` and `fixed_order` as in Algorithm.
struct VectorRow {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::span<const Parameter> parameters;
  Program (*compile)(const DistributedVector&, const Tuning&);
  bool commutative = false;
  bool fixed_order = true;
};

constexpr auto both = Signs::both;
constexpr auto divide = Signs::dividing;
constexpr auto gather = Signs::gathering;

constexpr VectorRow allreduces[] = {
    {"recursive-exchange", "groups divide the vector, or combine it whole, and gather the parts; any factors", jocksch,
     list_of<exchange_list<both>, part, fixed>, allreduce_exchange},
    {"cyclic-shift", "the same among neighbours in a ring; for any number of ranks", bruck_ho,
     list_of<cyclic_list<both>, part, fixed>, allreduce_cyclic, true},
    {"tree", "reduce to one rank, then broadcast", jocksch, list_of<tree_list<both>>, allreduce_tree},
    {"cyclic-copy-in", "parts go round, and every rank adds its own operand", jocksch, list_of<part, fixed>,
     allreduce_copy_in, true},
    {"building-blocks", "halving and doubling among a power of two of the ranks", rabenseifner, list_of<part, fixed>,
     allreduce_building_blocks},
    {"node-aware", "lanes divide the vector within each node, and combine it between nodes", traff,
     list_of<lanes, flat_list_between<both>, part>, allreduce_node_aware, false, false},
};
constexpr VectorRow reduces[] = {
    {"tree", "operands meet in a tree of any factors", jocksch, list_of<tree_list<divide>>, reduce_tree},
    {"recursive-exchange", "groups divide the vector, and the root gathers it", jocksch,
     list_of<exchange_list<divide>, part, fixed>, reduce_exchange},
    {"cyclic-shift", "the same among neighbours in a ring; for any number of ranks", bruck_ho,
     list_of<cyclic_list<divide>, part, fixed>, reduce_cyclic, true},
    {"chain", "segments go from rank to rank, which add their operands, to the root", worringen, list_of<part, fixed>,
     reduce_chain, true, false},
    {"node-aware", "lanes divide the vector within each node; trees between nodes", traff,
     list_of<lanes, tree_list_between<divide>, part>, reduce_node_aware, false, false},
};
constexpr VectorRow reduce_scatters[] = {
    {"recursive-exchange", "groups divide the vector; any factors", jocksch, list_of<exchange_list<divide>>,
     reduce_scatter_exchange},
    {"cyclic-shift", "the same among neighbours in a ring; for any number of ranks", bruck_ho,
     list_of<cyclic_list<divide>>, reduce_scatter_cyclic, true},
    {"node-aware", "lanes combine within each node what others need, then between nodes", traff, list_of<lanes>,
     reduce_scatter_node_aware, false, false},
};
constexpr VectorRow bcasts[] = {
    {"tree", "a tree of any factors", jocksch, list_of<tree_list<gather>>, bcast_tree},
    {"scatter-allgather", "the root scatters parts, which the others gather", rabenseifner, list_of<part, fixed>,
     bcast_scatter},
    {"chain", "segments go from rank to rank, from the root on", worringen, list_of<part, fixed>, bcast_chain},
    {"node-aware", "lanes bring a part of the vector to each node", traff,
     list_of<lanes, tree_list_between<gather>, part>, bcast_node_aware},
};
constexpr VectorRow allgathers[] = {
    {"recursive-exchange", "groups exchange what they have; any factors", jocksch, list_of<exchange_list<gather>>,
     allgather_exchange},
    {"cyclic-shift", "the same among neighbours in a ring; for any number of ranks", bruck,
     list_of<cyclic_list<gather>>, allgather_cyclic},
    {"node-aware", "lanes exchange the blocks of nodes, then share them", traff,
     list_of<lanes, flat_list_between<gather>>, allgather_node_aware},
};
constexpr VectorRow gathers[] = {
    {"tree", "blocks meet in a tree of any factors", jocksch, list_of<tree_list<divide>>, gather_tree},
    {"node-aware", "one message from each node; a tree between nodes", traff, list_of<tree_list_between<divide>>,
     gather_node_aware},
};
constexpr VectorRow scatters[] = {
    {"tree", "a tree of any factors", jocksch, list_of<tree_list<gather>>, scatter_tree},
    {"node-aware", "one message to each node; a tree between nodes", traff, list_of<tree_list_between<gather>>,
     scatter_node_aware},
};
constexpr VectorRow barriers[] = {
    {"cyclic-shift", "dissemination with any factors", hensgen, list_of<cyclic_list<gather>>, barrier_cyclic},
    {"tree", "up and down a tree with four children", hensgen, {}, barrier_tree},
    {"node-aware", "one rank of each node disseminates", hensgen,
     list_of<factors_between<cyclic_factors, cyclic_defect, gather>>, barrier_node_aware},
};
constexpr VectorRow scans[] = {
    {"cyclic-shift", "each rank combines what those before it have; any factors", hillis,
     list_of<factors<cyclic_factors, tree_defect, gather>>, scan_cyclic},
    {"node-aware", "within each node, then among the nodes' last ranks", hillis,
     list_of<factors_between<cyclic_factors, tree_defect, gather>>, scan_node_aware, false, false},
};
constexpr VectorRow exscans[] = {
    {"cyclic-shift", "the scan of the operand of the rank before", hillis,
     list_of<factors<cyclic_factors, tree_defect, gather>>, exscan_cyclic},
    {"node-aware", "likewise", hillis, list_of<factors_between<cyclic_factors, tree_defect, gather>>, exscan_node_aware,
     false, false},
};

// The collectives of each family side by side, in their order.
constexpr auto rows = [] {
  constexpr std::size_t count = std::size(allreduces) + std::size(reduces) + (2 * std::size(reduce_scatters)) +
                                std::size(bcasts) + (2 * std::size(allgathers)) + (2 * std::size(gathers)) +
                                (2 * std::size(scatters)) + std::size(barriers) + std::size(scans) + std::size(exscans);
  std::array<Algorithm, count> all{};
  std::size_t next = 0;
  const auto add = [&](const auto& family, Collective collective) {
    for (const VectorRow& row : family) {
      all[next++] = {.collective = collective,
                     .name = row.name,
                     .knowledge = Knowledge::all,
                     .summary = row.summary,
                     .source = row.source,
                     .parameters = row.parameters,
                     .compile = row.compile,
                     .commutative = row.commutative,
                     .fixed_order = row.fixed_order};
    }
  };
  add(allreduces, Collective::allreduce);
  add(reduces, Collective::reduce);
  add(bcasts, Collective::bcast);
  add(reduce_scatters, Collective::reduce_scatter);
  add(reduce_scatters, Collective::reduce_scatter_block);
  add(allgathers, Collective::allgather);
  add(allgathers, Collective::allgatherv);
  add(gathers, Collective::gather);
  add(gathers, Collective::gatherv);
  add(scatters, Collective::scatter);
  add(scatters, Collective::scatterv);
  add(barriers, Collective::barrier);
  add(scans, Collective::scan);
  add(exscans, Collective::exscan);
  return all;
}();

} // namespace

std::span<const Algorithm> vector_rows() { return rows; }

} // namespace stoker::algos
