// SPDX-License-Identifier: BSD-3-Clause
// One row per algorithm of the all-to-alls and of the neighborhoods' all-to-alls.
#include "algos/collectives/alltoall_aggregated.hpp"
#include "algos/collectives/alltoall_flat.hpp"
#include "algos/collectives/alltoall_rma.hpp"
#include "algos/collectives/factor_rules.hpp"
#include "algos/collectives/literature.hpp"
#include "algos/collectives/neighbor_alltoall.hpp"
#include "algos/collectives/registry_rows.hpp"
#include "algos/collectives/shared_parameters.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace stoker::algos {

namespace {

using namespace literature;
using topology::Layout;

// ---- parameters ----

std::int32_t all_ranks(const Layout& layout) { return std::max(2, layout.ranks()); }
std::int32_t radix_of_a_node(const Layout& layout) { return std::max(2, largest_node(layout)); }
std::int32_t all_nodes(const Layout& layout) { return std::max(2, layout.nodes()); }
std::int32_t root_of_node(const Layout& layout) {
  return static_cast<std::int32_t>(balanced_radix(static_cast<std::size_t>(largest_node(layout))));
}

constexpr Parameter between{.name = "between", .summary = "exchange between nodes", .exchange = &Tuning::between};
constexpr Parameter within{.name = "within", .summary = "exchange within a node", .exchange = &Tuning::within};
constexpr Parameter r{
    .name = "r", .summary = "radix", .number = &Tuning::radix, .least = 2, .most = all_ranks, .preset = root_of_ranks};
constexpr Parameter r1{.name = "r1",
                       .summary = "radix within a node",
                       .number = &Tuning::radix_within,
                       .least = 2,
                       .most = radix_of_a_node,
                       .preset = root_of_node};
constexpr Parameter r2{.name = "r2",
                       .summary = "radix between nodes",
                       .number = &Tuning::radix_between,
                       .least = 2,
                       .most = all_nodes,
                       .preset = all_nodes};

// ---- what each row compiles ----

constexpr FlatExchange in_batches(std::int32_t messages) {
  return {FlatExchange::Kind::direct, static_cast<std::uint32_t>(messages)};
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
    {{},
     "batched",
     Knowledge::own,
     "every pair directly, some messages at a time",
     namugwanya,
     list_of<batch>,
     batched},
    {{},
     "bruck",
     Knowledge::all,
     "bundles in log2(P) rounds, with rotations before and after",
     bruck,
     {},
     rotating_bruck},
    {{}, "bruck-norotation", Knowledge::all, "bundles in log2(P) rounds, in place", fan, {}, radix_2},
    {{}, "radix", Knowledge::all, "bundles in rounds of a tunable radix", fan, list_of<r>, radix},
    {{}, "radix2", Knowledge::all, "tunable radix within each node, then between nodes", fan, list_of<r1, r2>, radix2},
    {{},
     "hierarchical",
     Knowledge::node,
     "one leader per node; one message between each two nodes",
     kinkead,
     list_of<between>,
     hierarchical},
    {{},
     "multileader",
     Knowledge::node,
     "several leaders per node; one message between each two leaders",
     kinkead,
     list_of<leaders, between>,
     multileader},
    {{},
     "node-aware",
     Knowledge::node,
     "each rank exchanges for its node with one rank of each other, then within it",
     kinkead,
     list_of<between, within>,
     node_aware},
    {{},
     "locality-aware",
     Knowledge::node,
     "node-aware with several groups per node in the place of nodes",
     kinkead,
     list_of<groups<four_ranks_each>, between, within>,
     locality_aware},
    {{},
     "multileader-node-aware",
     Knowledge::node,
     "several leaders per node, node-aware among themselves",
     kinkead,
     list_of<leaders, between, within>,
     multileader_node_aware},
    {{},
     "rma-fence",
     Knowledge::own,
     "each rank writes into the others' receive buffers between two fences",
     namugwanya_rma,
     {},
     rma_fence,
     Buffer::recv},
    {{},
     "rma-lock",
     Knowledge::own,
     "the same as soon as each target by itself has started",
     namugwanya_rma,
     {},
     rma_lock,
     Buffer::recv},
    {{},
     "rma-fence-hierarchy",
     Knowledge::own,
     "rma-fence, to other nodes first",
     namugwanya_rma,
     {},
     rma_fence_hierarchy,
     Buffer::recv},
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

constexpr auto rows = [] {
  std::array<Algorithm, 2 * (std::size(alltoalls) + std::size(neighbor_alltoalls))> all{};
  std::size_t next = 0;
  const auto add = [&](const auto& family, Collective collective) {
    for (const Algorithm& algorithm : family) {
      all[next] = algorithm;
      all[next++].collective = collective;
    }
  };
  add(alltoalls, Collective::alltoall);
  add(alltoalls, Collective::alltoallv);
  add(neighbor_alltoalls, Collective::neighbor_alltoall);
  add(neighbor_alltoalls, Collective::neighbor_alltoallv);
  return all;
}();

} // namespace

std::span<const Algorithm> alltoall_rows() { return rows; }

} // namespace stoker::algos
