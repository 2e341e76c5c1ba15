// SPDX-License-Identifier: BSD-3-Clause
// MPI's collectives, and one row of facts about each. Checks of arguments, calls of the MPI library, choices and
// settings derive from it; the parameters of the C functions are in engine/data/collectives.def.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker::algos {

enum class Collective : std::uint8_t {
  alltoall,
  alltoallv,
  neighbor_alltoall,
  neighbor_alltoallv,
  allreduce,
  reduce,
  bcast,
  reduce_scatter,
  reduce_scatter_block,
  allgather,
  allgatherv,
  gather,
  gatherv,
  scatter,
  scatterv,
  barrier,
  scan,
  exscan,
  // Without algorithms of their own.
  alltoallw,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoallw,
};
inline constexpr std::size_t collective_count = 22;
inline constexpr std::size_t collectives_with_algorithms = 18; // the first ones

// Which kind of problem a collective is to its algorithms.
enum class Pattern : std::uint8_t {
  exchange,           // exchange.hpp: a block for every pair of ranks
  neighborhood,       // neighbor_exchange.hpp: a block for every edge of the communicator's topology
  distributed_vector, // distributed_vector.hpp: blocks that all ranks share, combined or not
};

// Who knows the sizes of all blocks from its arguments.
enum class SizesKnownTo : std::uint8_t {
  all,
  root,
  nobody, // each rank knows those of its own blocks
};

enum class Number : std::uint8_t { none, one, each }; // each: one for each peer

// One of the two buffers and its arguments. Peers: all ranks, or this rank's neighbors.
struct BufferTraits {
  Number counts = Number::none;
  Number blocks = Number::none;
  bool root_only = false; // other ranks' buffer and arguments are not looked at
};

struct CollectiveTraits {
  std::string_view name{};
  Pattern pattern = Pattern::distributed_vector;
  BufferTraits send{}; // of reductions without counts: those of `recv` are both buffers'
  BufferTraits recv{}; // of bcast the one buffer
  bool has_root = false;
  bool combines = false;
  bool own_types = false; // of each block; displacements are bytes then
  SizesKnownTo sizes = SizesKnownTo::all;
  Collective carried_out_as = {}; // whose algorithms do it
};

namespace detail {
using enum Number;
using enum Collective;
// In the order of the enumeration.
inline constexpr std::array<CollectiveTraits, collective_count> traits = [] {
  constexpr auto nobody = SizesKnownTo::nobody;
  constexpr BufferTraits all_equal{one, each};
  constexpr BufferTraits all_counted{each, each};
  constexpr BufferTraits single{one, one};
  constexpr BufferTraits operand{none, one};
  constexpr BufferTraits operands{none, each};
  constexpr BufferTraits at_root_equal{one, each, true};
  constexpr BufferTraits at_root_counted{each, each, true};
  std::array<CollectiveTraits, collective_count> rows{{
      {.name = "alltoall", .pattern = Pattern::exchange, .send = all_equal, .recv = all_equal},
      {.name = "alltoallv", .pattern = Pattern::exchange, .send = all_counted, .recv = all_counted, .sizes = nobody},
      {.name = "neighbor_alltoall",
       .pattern = Pattern::neighborhood,
       .send = all_equal,
       .recv = all_equal,
       .sizes = nobody},
      {.name = "neighbor_alltoallv",
       .pattern = Pattern::neighborhood,
       .send = all_counted,
       .recv = all_counted,
       .sizes = nobody},
      {.name = "allreduce", .send = operand, .recv = single, .combines = true},
      {.name = "reduce", .send = operand, .recv = single, .has_root = true, .combines = true},
      {.name = "bcast", .recv = single, .has_root = true},
      {.name = "reduce_scatter", .send = operands, .recv = {each, one}, .combines = true},
      {.name = "reduce_scatter_block", .send = operands, .recv = single, .combines = true},
      {.name = "allgather", .send = single, .recv = all_equal},
      {.name = "allgatherv", .send = single, .recv = all_counted},
      {.name = "gather", .send = single, .recv = at_root_equal, .has_root = true},
      {.name = "gatherv", .send = single, .recv = at_root_counted, .has_root = true, .sizes = SizesKnownTo::root},
      {.name = "scatter", .send = at_root_equal, .recv = single, .has_root = true},
      {.name = "scatterv", .send = at_root_counted, .recv = single, .has_root = true, .sizes = SizesKnownTo::root},
      {.name = "barrier"},
      {.name = "scan", .send = operand, .recv = single, .combines = true},
      {.name = "exscan", .send = operand, .recv = single, .combines = true},
      {.name = "alltoallw",
       .pattern = Pattern::exchange,
       .send = all_counted,
       .recv = all_counted,
       .own_types = true,
       .sizes = nobody,
       .carried_out_as = alltoallv},
      {.name = "neighbor_allgather",
       .pattern = Pattern::neighborhood,
       .send = single,
       .recv = all_equal,
       .sizes = nobody,
       .carried_out_as = neighbor_alltoall},
      {.name = "neighbor_allgatherv",
       .pattern = Pattern::neighborhood,
       .send = single,
       .recv = all_counted,
       .sizes = nobody,
       .carried_out_as = neighbor_alltoallv},
      {.name = "neighbor_alltoallw",
       .pattern = Pattern::neighborhood,
       .send = all_counted,
       .recv = all_counted,
       .own_types = true,
       .sizes = nobody,
       .carried_out_as = neighbor_alltoallv},
  }};
  for (std::size_t c = 0; c < collectives_with_algorithms; ++c) {
    rows[c].carried_out_as = static_cast<Collective>(c);
  }
  return rows;
}();
static_assert(traits[static_cast<std::size_t>(exscan)].name == "exscan" &&
              traits[static_cast<std::size_t>(neighbor_alltoallw)].name == "neighbor_alltoallw");
} // namespace detail

[[nodiscard]] constexpr const CollectiveTraits& traits_of(Collective collective) {
  return detail::traits[static_cast<std::size_t>(collective)];
}
[[nodiscard]] constexpr std::string_view name_of(Collective collective) { return traits_of(collective).name; }
[[nodiscard]] constexpr bool has_root(Collective collective) { return traits_of(collective).has_root; }
[[nodiscard]] constexpr bool combines(Collective collective) { return traits_of(collective).combines; }
[[nodiscard]] constexpr Pattern pattern_of(Collective collective) { return traits_of(collective).pattern; }
// Whether there is a block for each peer, rather than one that is everybody's.
[[nodiscard]] constexpr bool has_blocks(Collective collective) {
  const CollectiveTraits& traits = traits_of(collective);
  return traits.send.blocks == Number::each || traits.recv.blocks == Number::each;
}
// With algorithms of its own. Nothing where there is none of that name.
[[nodiscard]] constexpr std::optional<Collective> find_collective(std::string_view name) {
  const auto* const end = detail::traits.begin() + collectives_with_algorithms;
  const auto* const found = std::ranges::find(detail::traits.begin(), end, name, &CollectiveTraits::name);
  return found == end ? std::nullopt : std::optional(static_cast<Collective>(found - detail::traits.begin()));
}

} // namespace stoker::algos
