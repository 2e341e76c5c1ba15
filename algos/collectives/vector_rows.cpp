// SPDX-License-Identifier: BSD-3-Clause
// One row per algorithm of every other collective.
#include "algos/collectives/factor_rules.hpp"
#include "algos/collectives/literature.hpp"
#include "algos/collectives/registry_rows.hpp"
#include "algos/collectives/shared_parameters.hpp"
#include "algos/collectives/vector_algorithms.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>

namespace stoker::algos {

namespace {

using namespace literature;
using topology::Layout;

// ---- parameters ----

std::size_t rank_count(const Layout& layout) { return static_cast<std::size_t>(layout.ranks()); }

using FactorsRule = std::string (*)(const FactorList&, std::size_t, Signs);
using Preset = FactorList (*)(std::size_t, Signs);

std::size_t nodes_of(const Layout& layout) { return static_cast<std::size_t>(layout.nodes()); }
std::size_t largest_of(const Layout& layout) { return static_cast<std::size_t>(largest_node(layout)); }

template <Preset preset, FactorsRule rule, Signs signs>
constexpr Parameter factors{
    .name = "factors",
    .summary = signs == Signs::both       ? "list of factors, as in -4 -2 2 4"
               : signs == Signs::dividing ? "list of factors, as in -4 -2"
                                          : "list of factors, as in 2 4",
    .factors = &Tuning::factors,
    .preset_factors = [](const Layout& layout, const Tuning&) { return preset(rank_count(layout), signs); },
    .factors_defect = [](const FactorList& list, const Layout& layout,
                         const Tuning&) { return rule(list, rank_count(layout), signs); }};
template <Preset preset, FactorsRule rule, Signs signs>
constexpr Parameter factors_between{
    .name = "between",
    .summary = "list of factors between nodes",
    .factors = &Tuning::factors_between,
    .preset_factors = [](const Layout& layout, const Tuning&) { return preset(nodes_of(layout), signs); },
    .factors_defect = [](const FactorList& list, const Layout& layout,
                         const Tuning&) { return rule(list, nodes_of(layout), signs); }};
// Among regions whose leaders share the messages of a stage: by default one message each, or four regions. The leaders
// of an allreduce share the operands, of which a region's own is one.
template <Teams (*teams_of)(const Layout&, const Tuning&), Signs signs>
constexpr Parameter factors_between_regions{
    .name = "between",
    .summary = "list of factors between groups or leaders",
    .factors = &Tuning::factors_between,
    .preset_factors =
        [](const Layout& layout, const Tuning& tuning) {
          constexpr std::size_t few = 4;
          const Teams teams = teams_of(layout, tuning);
          const std::size_t leaders = teams.groups() / teams.regions();
          return signs == Signs::both ? even_factors(teams.regions(), std::max(few, leaders), Signs::gathering)
                                      : even_factors(teams.regions(), std::max(few, leaders + 1), signs);
        },
    .factors_defect =
        [](const FactorList& list, const Layout& layout, const Tuning& tuning) {
          const bool combines = signs == Signs::both && dividing(list).empty();
          return tree_defect(list, teams_of(layout, tuning).regions(), combines ? Signs::gathering : signs);
        }};
template <Signs signs>
constexpr Parameter tree_list_within{
    .name = "within",
    .summary = "list of factors within a node",
    .factors = &Tuning::factors_within,
    .preset_factors = [](const Layout& layout, const Tuning&) { return cyclic_factors(largest_of(layout), signs); },
    .factors_defect = [](const FactorList& list, const Layout& layout,
                         const Tuning&) { return tree_defect(list, largest_of(layout), signs); }};
// A list for recursive exchange where it is one, folded or not, else for cyclic shift.
std::string exchange_or_cyclic_defect(const FactorList& list, std::size_t members, Signs signs) {
  const std::string defect = exchange_defect(list, members, signs);
  const bool folded = signs == Signs::both && folded_defect(list, members, signs).empty();
  return defect.empty() || folded || cyclic_defect(list, members, signs).empty() ? "" : defect;
}
// A list for a scatter and an allgather where it is one, else for a tree.
std::string tree_or_scatter_defect(const FactorList& list, std::size_t members, Signs /*signs*/) {
  return dividing(list).empty() ? tree_defect(list, members, Signs::gathering)
                                : scatter_defect(list, members, Signs::both);
}
FactorList tree_factors(std::size_t members, Signs /*signs*/) { return cyclic_factors(members, Signs::gathering); }

std::int32_t smallest_node(const Layout& layout) {
  std::size_t least = layout.node_ranks(0).size();
  for (int node = 1; node < layout.nodes(); ++node) {
    least = std::min(least, layout.node_ranks(node).size());
  }
  return static_cast<std::int32_t>(least);
}
std::int32_t any_number(const Layout& /*layout*/) { return std::numeric_limits<std::int32_t>::max(); }
std::int32_t a_cache_line(const Layout& /*layout*/) { return 64; }
std::int32_t a_long_message(const Layout& /*layout*/) { return 8192; }
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
constexpr Parameter segment{.name = "part",
                            .summary = "least bytes of a segment",
                            .number = &Tuning::part_bytes,
                            .most = any_number,
                            .preset = a_long_message};
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
constexpr Parameter folded_list = factors<folded_factors, folded_defect, Signs::both>;
constexpr Parameter scatter_list = factors<scatter_factors, scatter_defect, Signs::both>;
template <Signs signs>
constexpr Parameter tree_list = factors<cyclic_factors, tree_defect, signs>;
template <Signs signs>
constexpr Parameter flat_list_between = factors_between<exchange_or_cyclic_factors, exchange_or_cyclic_defect, signs>;
template <Signs signs>
constexpr Parameter tree_list_between = factors_between<cyclic_factors, tree_defect, signs>;
template <Signs signs>
constexpr Parameter list_between_groups = factors_between_regions<locality_aware_teams, signs>;
template <Signs signs>
constexpr Parameter list_between_leaders = factors_between_regions<multileader_teams, signs>;
constexpr Parameter bcast_list_between = factors_between<tree_factors, tree_or_scatter_defect, Signs::both>;

// The whole torus is one dimension, unless something else is asked for.
FactorList one_ring(const Layout& layout, const Tuning& /*tuning*/) {
  FactorList list;
  if (layout.ranks() > 1) {
    list.add(layout.ranks());
  }
  return list;
}
constexpr Parameter dims{.name = "dims",
                         .summary = "dimensions of a torus of all ranks, the last one fastest, as in 4 8",
                         .factors = &Tuning::factors,
                         .preset_factors = one_ring,
                         .factors_defect = [](const FactorList& list, const Layout& layout, const Tuning&) {
                           return torus_defect(list, rank_count(layout));
                         }};

// ---- the rows ----

// The last three as in Algorithm.
struct VectorRow {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::span<const Parameter> parameters;
  Program (*compile)(const DistributedVector&, const Tuning&);
  bool commutative = false;
  bool fixed_order = true;
  std::optional<Buffer> puts_into = {};
};

constexpr auto both = Signs::both;
constexpr auto to_divide = Signs::dividing;
constexpr auto to_gather = Signs::gathering;

constexpr VectorRow allreduces[] = {
    {"recursive-exchange", "groups divide the vector, or combine it whole, and gather the parts; any factors", jocksch,
     list_of<exchange_list<both>, part, fixed>, allreduce_exchange},
    {"cyclic-shift", "the same among neighbours in a ring; for any number of ranks", bruck_ho,
     list_of<cyclic_list<both>, part, fixed>, allreduce_cyclic, true},
    {"tree", "reduce to one rank, then broadcast", jocksch, list_of<tree_list<both>>, allreduce_tree},
    {"cyclic-copy-in", "parts go round, and every rank adds its own operand", jocksch, list_of<part, fixed>,
     allreduce_copy_in, true},
    {"ring", "parts go round twice, first combined and then gathered", patarasuk, list_of<part, fixed>, allreduce_ring,
     true},
    {"building-blocks", "recursive exchange among a power of two of the ranks: halving and doubling, or other factors",
     rabenseifner, list_of<folded_list, part, fixed>, allreduce_building_blocks},
    {"hierarchical", "a tree to one leader per node; leaders combine; a tree back", jocksch,
     list_of<tree_list_within<both>, flat_list_between<both>, part>, allreduce_hierarchical, false, false},
    {"bine", "a butterfly of short distances divides the vector and gathers it", bine, list_of<part>, allreduce_bine,
     true},
    {"bine-doubling",
     "a butterfly of short distances combines the vector whole",
     bine,
     {},
     allreduce_bine_doubling,
     true},
    {"swing", "the same as bine in all dimensions and directions of a torus at once", swing, list_of<dims, part>,
     allreduce_swing, true},
    {"two-tree", "segments go up and down two binary trees", sanders, list_of<segment, fixed>, allreduce_two_tree},
    {"node-aware", "lanes divide the vector within each node, and combine it between nodes", traff,
     list_of<lanes, flat_list_between<both>, part>, allreduce_node_aware, false, false},
    {"locality-aware", "all ranks of a node exchange with other nodes, each with another one, then combine",
     bienz_allreduce, list_of<groups<one_a_node>, list_between_groups<both>, part>, allreduce_locality_aware, false,
     false},
    {"multileader", "several leaders per node combine for their ranks, then among themselves", kinkead,
     list_of<leaders, list_between_leaders<both>, part>, allreduce_multileader, false, false},
};
constexpr VectorRow reduces[] = {
    {"tree", "operands meet in a tree of any factors", jocksch, list_of<tree_list<to_divide>>, reduce_tree},
    {"recursive-exchange", "groups divide the vector, and the root gathers it", jocksch,
     list_of<exchange_list<to_divide>, part, fixed>, reduce_exchange},
    {"cyclic-shift", "the same among neighbours in a ring; for any number of ranks", bruck_ho,
     list_of<cyclic_list<to_divide>, part, fixed>, reduce_cyclic, true},
    {"chain", "segments go from rank to rank, which add their operands, to the root", worringen, list_of<part, fixed>,
     reduce_chain, true, false},
    {"hierarchical", "trees to one leader per node, then between nodes", jocksch,
     list_of<tree_list_within<to_divide>, tree_list_between<to_divide>>, reduce_hierarchical, false, false},
    {"bine", "a binomial tree of short distances", bine, {}, reduce_bine, true},
    {"node-aware", "lanes divide the vector within each node; trees between nodes", traff,
     list_of<lanes, tree_list_between<to_divide>, part>, reduce_node_aware, false, false},
};
constexpr VectorRow reduce_scatters[] = {
    {"recursive-exchange", "groups divide the vector; any factors", jocksch, list_of<exchange_list<to_divide>>,
     reduce_scatter_exchange},
    {"cyclic-shift", "the same among neighbours in a ring; for any number of ranks", bruck_ho,
     list_of<cyclic_list<to_divide>>, reduce_scatter_cyclic, true},
    {"ring", "sums go round, and every rank adds its own operand", patarasuk, {}, reduce_scatter_ring, true},
    {"bine", "a butterfly of short distances divides the vector", bine, {}, reduce_scatter_bine, true},
    {"node-aware", "lanes combine within each node what others need, then between nodes", traff, list_of<lanes>,
     reduce_scatter_node_aware, false, false},
    {"locality-aware", "all ranks of a node exchange with other nodes, each with another one, and combine",
     bienz_allgather, list_of<groups<one_a_node>, list_between_groups<to_divide>>, reduce_scatter_locality_aware, true,
     false},
    {"multileader", "several leaders per node combine for their ranks, then among themselves", kinkead,
     list_of<leaders, list_between_leaders<to_divide>>, reduce_scatter_multileader, true, false},
    {"rma-fence", "each rank writes its operands to the ranks that combine them, in batches between fences",
     namugwanya_rma, list_of<batch>, reduce_scatter_rma_fence, false, true, Buffer::scratch},
    {"rma-lock", "the same as soon as each target by itself has started a batch", namugwanya_rma, list_of<batch>,
     reduce_scatter_rma_lock, false, true, Buffer::scratch},
};
constexpr VectorRow bcasts[] = {
    {"tree", "a tree of any factors", jocksch, list_of<tree_list<to_gather>>, bcast_tree},
    {"scatter-allgather", "the root scatters parts, which the others gather", rabenseifner,
     list_of<scatter_list, part, fixed>, bcast_scatter},
    {"scatter-ring", "the root scatters parts down a tree, and they go round", rabenseifner,
     list_of<tree_list<to_gather>, part, fixed>, bcast_scatter_ring},
    {"chain", "segments go from rank to rank, from the root on", worringen, list_of<part, fixed>, bcast_chain},
    {"hierarchical", "a tree between one leader per node, or scatter and allgather; then trees within nodes", jocksch,
     list_of<tree_list_within<to_gather>, bcast_list_between, part>, bcast_hierarchical},
    {"bine", "a binomial tree of short distances", bine, {}, bcast_bine},
    {"node-aware", "lanes bring a part of the vector to each node", traff,
     list_of<lanes, tree_list_between<to_gather>, part>, bcast_node_aware},
    {"rma-fence", "ranks write into others' buffers down a tree, each level between fences", namugwanya_rma,
     list_of<tree_list<to_gather>>, bcast_rma_fence, false, true, Buffer::recv},
    {"rma-lock", "the same, to each target as soon as it by itself has started", namugwanya_rma,
     list_of<tree_list<to_gather>>, bcast_rma_lock, false, true, Buffer::recv},
    {"rma-scatter-allgather", "the root writes a part to each other rank, which writes it to the rest", namugwanya_rma,
     list_of<part, fixed>, bcast_rma_scatter_allgather, false, true, Buffer::recv},
};
constexpr VectorRow allgathers[] = {
    {"recursive-exchange", "groups exchange what they have; any factors", jocksch, list_of<exchange_list<to_gather>>,
     allgather_exchange},
    {"cyclic-shift", "the same among neighbours in a ring; for any number of ranks", bruck,
     list_of<cyclic_list<to_gather>>, allgather_cyclic},
    {"ring", "blocks go round, from neighbour to neighbour", rabenseifner, {}, allgather_ring},
    {"neighbor-exchange",
     "two blocks at a time, with either neighbour in turn; the ring for an odd number of ranks",
     chen,
     {},
     allgather_neighbor},
    {"bine", "a butterfly of short distances", bine, {}, allgather_bine},
    {"node-aware", "lanes exchange the blocks of nodes, then share them", traff,
     list_of<lanes, flat_list_between<to_gather>>, allgather_node_aware},
    {"locality-aware", "all ranks of a node exchange with other nodes, each with another one, and share",
     bienz_allgather, list_of<groups<one_a_node>, list_between_groups<to_gather>>, allgather_locality_aware},
    {"multileader", "several leaders per node exchange the blocks of their ranks", kinkead,
     list_of<leaders, list_between_leaders<to_gather>>, allgather_multileader},
    {"rma-fence",
     "each rank writes into the others' receive buffers between two fences",
     namugwanya_rma,
     {},
     allgather_rma_fence,
     false,
     true,
     Buffer::recv},
    {"rma-lock",
     "the same as soon as each target by itself has started",
     namugwanya_rma,
     {},
     allgather_rma_lock,
     false,
     true,
     Buffer::recv},
    {"rma-fence-hierarchy",
     "rma-fence, to other nodes first",
     namugwanya_rma,
     {},
     allgather_rma_fence_hierarchy,
     false,
     true,
     Buffer::recv},
};
constexpr VectorRow gathers[] = {
    {"tree", "blocks meet in a tree of any factors", jocksch, list_of<tree_list<to_divide>>, gather_tree},
    {"node-aware", "one message from each node; a tree between nodes", traff, list_of<tree_list_between<to_divide>>,
     gather_node_aware},
};
constexpr VectorRow scatters[] = {
    {"tree", "a tree of any factors", jocksch, list_of<tree_list<to_gather>>, scatter_tree},
    {"node-aware", "one message to each node; a tree between nodes", traff, list_of<tree_list_between<to_gather>>,
     scatter_node_aware},
};
constexpr VectorRow barriers[] = {
    {"cyclic-shift", "dissemination with any factors", hensgen, list_of<cyclic_list<to_gather>>, barrier_cyclic},
    {"tree", "up and down a tree with four children", hensgen, {}, barrier_tree},
    {"node-aware", "one rank of each node disseminates", hensgen,
     list_of<factors_between<cyclic_factors, cyclic_defect, to_gather>>, barrier_node_aware},
};
constexpr VectorRow scans[] = {
    {"cyclic-shift", "each rank combines what those before it have; any factors", hillis,
     list_of<factors<cyclic_factors, tree_defect, to_gather>>, scan_cyclic},
    {"node-aware", "within each node, then among the nodes' last ranks", hillis,
     list_of<factors_between<cyclic_factors, tree_defect, to_gather>>, scan_node_aware, false, false},
};
constexpr VectorRow exscans[] = {
    {"cyclic-shift", "the scan of the operand of the rank before", hillis,
     list_of<factors<cyclic_factors, tree_defect, to_gather>>, exscan_cyclic},
    {"node-aware", "likewise", hillis, list_of<factors_between<cyclic_factors, tree_defect, to_gather>>,
     exscan_node_aware, false, false},
};

// The collectives of each family side by side, in their order.
constexpr auto all_vector_rows = [] {
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
                     .puts_into = row.puts_into,
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

std::span<const Algorithm> vector_rows() { return all_vector_rows; }

} // namespace stoker::algos
