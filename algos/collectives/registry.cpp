// SPDX-License-Identifier: BSD-3-Clause
// One row per algorithm.
#include "algos/collectives/registry.hpp"

#include "algos/collectives/alltoall_aggregated.hpp"
#include "algos/collectives/alltoall_flat.hpp"
#include "algos/collectives/alltoall_rma.hpp"
#include "algos/collectives/factor_rules.hpp"
#include "algos/collectives/neighbor_alltoall.hpp"
#include "algos/collectives/vector_algorithms.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace stoker::algos {

namespace {

using topology::Layout;

constexpr std::string_view kinkead = "Kinkead et al., Scaling All-to-all Operations Across Emerging Many-Core "
                                     "Supercomputers, 2025";
constexpr std::string_view fan = "Fan et al., Configurable Algorithms for All-to-All Collectives, 2024";
constexpr std::string_view namugwanya = "Namugwanya et al., Collective-optimized FFTs, 2023";
constexpr std::string_view namugwanya_rma =
    "Namugwanya, Analyzing Persistent Alltoallv RMA Implementations for High-Performance MPI Communication, 2026";
constexpr std::string_view mpi = "MPI: A Message-Passing Interface Standard, version 4.1, section 8.6";
constexpr std::string_view collom = "Collom, Li and Bienz, Optimizing irregular communication with neighborhood "
                                    "collectives and locality-aware parallelism, 2023";
constexpr std::string_view bruck = "Bruck et al., Efficient algorithms for all-to-all communications in multiport "
                                   "message-passing systems, 1997";

constexpr std::string_view jocksch = "Jocksch et al., Flexible allreduce for shared memory and networks, 2025";
constexpr std::string_view bruck_ho =
    "Bruck and Ho, Efficient global combine operations in multi-port message-passing systems, 1993";
constexpr std::string_view rabenseifner =
    "Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 2005";
constexpr std::string_view traff =
    "Traff and Hunold, Decomposing MPI collectives for exploiting multi-lane communication, 2020";
constexpr std::string_view worringen = "Worringen, Pipelining and overlapping for MPI collective operations, 2003";
constexpr std::string_view hensgen = "Hensgen, Finkel and Manber, Two algorithms for barrier synchronization, 1988";
constexpr std::string_view hillis = "Hillis and Steele, Data parallel algorithms, 1986";

// ---- parameters ----

std::int32_t largest_node(const Layout& layout) {
  std::size_t most = 1;
  for (int node = 0; node < layout.nodes(); ++node) {
    most = std::max(most, layout.node_ranks(node).size());
  }
  return static_cast<std::int32_t>(most);
}
std::int32_t square_root(std::int32_t n) {
  return static_cast<std::int32_t>(balanced_radix(static_cast<std::size_t>(n)));
}

std::int32_t all_ranks(const Layout& layout) { return std::max(2, layout.ranks()); }
std::int32_t all_ranks_but_one(const Layout& layout) { return std::max(1, layout.ranks() - 1); }
std::int32_t all_of_a_node(const Layout& layout) { return largest_node(layout); }
std::int32_t radix_of_a_node(const Layout& layout) { return std::max(2, largest_node(layout)); }
std::int32_t all_nodes(const Layout& layout) { return std::max(2, layout.nodes()); }
std::int32_t root_of_ranks(const Layout& layout) { return square_root(layout.ranks()); }
std::int32_t root_of_node(const Layout& layout) { return square_root(largest_node(layout)); }
// Four ranks to a leader or group did best at most sizes in the literature's measurements.
std::int32_t four_ranks_each(const Layout& layout) { return std::max(1, largest_node(layout) / 4); }

constexpr Parameter between{.name = "between", .summary = "exchange between nodes", .exchange = &Tuning::between};
constexpr Parameter within{.name = "within", .summary = "exchange within a node", .exchange = &Tuning::within};
constexpr Parameter leaders{.name = "leaders",
                            .summary = "leaders per node, or domains",
                            .number = &Tuning::leaders,
                            .most = all_of_a_node,
                            .preset = four_ranks_each,
                            .domains = true};
constexpr Parameter groups{.name = "groups",
                           .summary = "groups per node, or domains",
                           .number = &Tuning::groups,
                           .most = all_of_a_node,
                           .preset = four_ranks_each,
                           .domains = true};

constexpr std::array of_batched = {Parameter{.name = "batch",
                                             .summary = "messages at a time",
                                             .number = &Tuning::batch,
                                             .most = all_ranks_but_one,
                                             .preset = root_of_ranks}};
constexpr std::array of_radix = {Parameter{
    .name = "r", .summary = "radix", .number = &Tuning::radix, .least = 2, .most = all_ranks, .preset = root_of_ranks}};
constexpr std::array of_radix2 = {Parameter{.name = "r1",
                                            .summary = "radix within a node",
                                            .number = &Tuning::radix_within,
                                            .least = 2,
                                            .most = radix_of_a_node,
                                            .preset = root_of_node},
                                  Parameter{.name = "r2",
                                            .summary = "radix between nodes",
                                            .number = &Tuning::radix_between,
                                            .least = 2,
                                            .most = all_nodes,
                                            .preset = all_nodes}};
constexpr std::array of_hierarchical = {between};
constexpr std::array of_multileader = {leaders, between};
constexpr std::array of_node_aware = {between, within};
constexpr std::array of_locality_aware = {groups, between, within};
constexpr std::array of_multileader_node_aware = {leaders, between, within};

// Of vector calls.
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

template <const auto&... parameters>
constexpr std::array list_of{parameters...};

// ---- what each row compiles ----

constexpr FlatExchange in_batches(std::int32_t batch) {
  return {FlatExchange::Kind::direct, static_cast<std::uint32_t>(batch)};
}
constexpr FlatExchange of_that_radix(std::int32_t radix) {
  return {FlatExchange::Kind::radix, static_cast<std::uint32_t>(radix)};
}

Program nonblocking(const Exchange& exchange, const Tuning&) { return compile_flat(exchange, {}); }
Program pairwise(const Exchange& exchange, const Tuning&) { return compile_flat(exchange, in_batches(1)); }
Program batched(const Exchange& exchange, const Tuning& t) { return compile_flat(exchange, in_batches(t.batch)); }
Program rotating_bruck(const Exchange& exchange, const Tuning&) { return compile_bruck(exchange); }
Program radix_2(const Exchange& exchange, const Tuning&) { return compile_flat(exchange, of_that_radix(2)); }
Program radix(const Exchange& exchange, const Tuning& t) { return compile_flat(exchange, of_that_radix(t.radix)); }
Program radix2(const Exchange& exchange, const Tuning& t) {
  return compile_aggregated(exchange, {.groups = {Parts::each},
                                       .regions = {1},
                                       .within_first = true,
                                       .between = of_that_radix(t.radix_between),
                                       .within = of_that_radix(t.radix_within)});
}
Program rma_fence(const Exchange& exchange, const Tuning&) {
  return compile_rma(exchange, Opening::fence, PutOrder::ranks);
}
Program rma_lock(const Exchange& exchange, const Tuning&) {
  return compile_rma(exchange, Opening::lock, PutOrder::ranks);
}
Program rma_fence_hierarchy(const Exchange& exchange, const Tuning&) {
  return compile_rma(exchange, Opening::fence, PutOrder::remote_first);
}
Program hierarchical(const Exchange& exchange, const Tuning& t) {
  return compile_aggregated(exchange, {.groups = {1}, .regions = {1}, .between = t.between, .within = {}});
}
Program multileader(const Exchange& exchange, const Tuning& t) {
  return compile_aggregated(exchange,
                            {.groups = {t.leaders}, .regions = {Parts::each}, .between = t.between, .within = {}});
}
Program node_aware(const Exchange& exchange, const Tuning& t) {
  return compile_aggregated(exchange,
                            {.groups = {Parts::each}, .regions = {1}, .between = t.between, .within = t.within});
}
Program locality_aware(const Exchange& exchange, const Tuning& t) {
  return compile_aggregated(exchange,
                            {.groups = {Parts::each}, .regions = {t.groups}, .between = t.between, .within = t.within});
}
Program multileader_node_aware(const Exchange& exchange, const Tuning& t) {
  return compile_aggregated(exchange,
                            {.groups = {t.leaders}, .regions = {1}, .between = t.between, .within = t.within});
}

// ---- the rows: each for the collective with equal blocks and for the one with counts alike ----

constexpr Algorithm alltoalls[] = {
    {{}, "nonblocking", Knowledge::own, "every pair directly, all messages at once", kinkead, {}, nonblocking},
    {{}, "pairwise", Knowledge::own, "every pair directly, one exchange after the other", kinkead, {}, pairwise},
    {{}, "batched", Knowledge::own, "every pair directly, some messages at a time", namugwanya, of_batched, batched},
    {{},
     "bruck",
     Knowledge::all,
     "bundles in log2(P) rounds, with rotations before and after",
     bruck,
     {},
     rotating_bruck},
    {{}, "bruck-norotation", Knowledge::all, "bundles in log2(P) rounds, in place", fan, {}, radix_2},
    {{}, "radix", Knowledge::all, "bundles in rounds of a tunable radix", fan, of_radix, radix},
    {{}, "radix2", Knowledge::all, "tunable radix within each node, then between nodes", fan, of_radix2, radix2},
    {{},
     "hierarchical",
     Knowledge::node,
     "one leader per node; one message between each two nodes",
     kinkead,
     of_hierarchical,
     hierarchical},
    {{},
     "multileader",
     Knowledge::node,
     "several leaders per node; one message between each two leaders",
     kinkead,
     of_multileader,
     multileader},
    {{},
     "node-aware",
     Knowledge::node,
     "each rank exchanges for its node with one rank of each other, then within it",
     kinkead,
     of_node_aware,
     node_aware},
    {{},
     "locality-aware",
     Knowledge::node,
     "node-aware with several groups per node in the place of nodes",
     kinkead,
     of_locality_aware,
     locality_aware},
    {{},
     "multileader-node-aware",
     Knowledge::node,
     "several leaders per node, node-aware among themselves",
     kinkead,
     of_multileader_node_aware,
     multileader_node_aware},
    {{},
     "rma-fence",
     Knowledge::own,
     "each rank writes into the others' receive buffers between two fences",
     namugwanya_rma,
     {},
     rma_fence,
     true},
    {{},
     "rma-lock",
     Knowledge::own,
     "the same as soon as each target by itself has started",
     namugwanya_rma,
     {},
     rma_lock,
     true},
    {{},
     "rma-fence-hierarchy",
     Knowledge::own,
     "rma-fence, to other nodes first",
     namugwanya_rma,
     {},
     rma_fence_hierarchy,
     true},
};

constexpr Algorithm neighbor_alltoalls[] = {
    {{}, "nonblocking", Knowledge::own, "a message for each block, all at once", mpi, {}, compile_neighbor_direct},
    {{},
     "locality-aware",
     Knowledge::node,
     "one message between each two nodes, every byte in it once",
     collom,
     {},
     compile_neighbor_locality_aware},
};

// Vector calls. `commutative` and `fixed_order` as in Algorithm.
struct VectorRow {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::span<const Parameter> parameters;
  Program (*compile)(const VectorCall&, const Tuning&);
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

// In the order of the collectives, so that each has its rows side by side.
constexpr auto algorithms = [] {
  constexpr std::size_t n = std::size(alltoalls);
  constexpr std::size_t m = std::size(neighbor_alltoalls);
  constexpr std::size_t vector_rows = std::size(allreduces) + std::size(reduces) + (2 * std::size(reduce_scatters)) +
                                      std::size(bcasts) + (2 * std::size(allgathers)) + (2 * std::size(gathers)) +
                                      (2 * std::size(scatters)) + std::size(barriers) + std::size(scans) +
                                      std::size(exscans);
  std::array<Algorithm, (2 * (n + m)) + vector_rows> rows{};
  std::size_t next = 0;
  const auto add = [&](const auto& family, Collective collective) {
    for (const Algorithm& algorithm : family) {
      rows[next] = algorithm;
      rows[next++].collective = collective;
    }
  };
  add(alltoalls, Collective::alltoall);
  add(alltoalls, Collective::alltoallv);
  add(neighbor_alltoalls, Collective::neighbor_alltoall);
  add(neighbor_alltoalls, Collective::neighbor_alltoallv);
  const auto add_vector = [&](const auto& family, Collective collective) {
    for (const VectorRow& row : family) {
      rows[next++] = {.collective = collective,
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
  add_vector(allreduces, Collective::allreduce);
  add_vector(reduces, Collective::reduce);
  add_vector(bcasts, Collective::bcast);
  add_vector(reduce_scatters, Collective::reduce_scatter);
  add_vector(reduce_scatters, Collective::reduce_scatter_block);
  add_vector(allgathers, Collective::allgather);
  add_vector(allgathers, Collective::allgatherv);
  add_vector(gathers, Collective::gather);
  add_vector(gathers, Collective::gatherv);
  add_vector(scatters, Collective::scatter);
  add_vector(scatters, Collective::scatterv);
  add_vector(barriers, Collective::barrier);
  add_vector(scans, Collective::scan);
  add_vector(exscans, Collective::exscan);
  return rows;
}();

} // namespace

std::string_view name_of(Collective collective) {
  switch (collective) {
  case Collective::alltoall:
    return "alltoall";
  case Collective::alltoallv:
    return "alltoallv";
  case Collective::neighbor_alltoall:
    return "neighbor_alltoall";
  case Collective::neighbor_alltoallv:
    return "neighbor_alltoallv";
  case Collective::allreduce:
    return "allreduce";
  case Collective::reduce:
    return "reduce";
  case Collective::bcast:
    return "bcast";
  case Collective::reduce_scatter:
    return "reduce_scatter";
  case Collective::reduce_scatter_block:
    return "reduce_scatter_block";
  case Collective::allgather:
    return "allgather";
  case Collective::allgatherv:
    return "allgatherv";
  case Collective::gather:
    return "gather";
  case Collective::gatherv:
    return "gatherv";
  case Collective::scatter:
    return "scatter";
  case Collective::scatterv:
    return "scatterv";
  case Collective::barrier:
    return "barrier";
  case Collective::scan:
    return "scan";
  case Collective::exscan:
    return "exscan";
  }
  return "unknown collective";
}

std::optional<Collective> find_collective(std::string_view name) {
  for (std::size_t c = 0; c < collective_count; ++c) {
    if (name_of(static_cast<Collective>(c)) == name) {
      return static_cast<Collective>(c);
    }
  }
  return std::nullopt;
}

std::span<const Algorithm> registry() { return algorithms; }

std::span<const Algorithm> algorithms_of(Collective collective) {
  const auto of = [&](const Algorithm& algorithm) { return algorithm.collective == collective; };
  const auto* first = std::find_if(algorithms.begin(), algorithms.end(), of);
  return {first, std::find_if_not(first, algorithms.end(), of)};
}

const Algorithm* find(Collective collective, std::string_view name) {
  const auto rows = algorithms_of(collective);
  const auto row = std::ranges::find(rows, name, &Algorithm::name);
  return row == rows.end() ? nullptr : &*row;
}

} // namespace stoker::algos
