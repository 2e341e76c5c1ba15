// SPDX-License-Identifier: BSD-3-Clause
// What the two libraries' rules are written with.
#pragma once

#include "algos/collectives/factor_rules.hpp"
#include "algos/libraries/library_rules.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace stoker::algos {

struct Rule {
  std::string_view algorithm;  // as the library calls it
  std::string choice;          // as parse_choice reads it
  std::string_view difference; // as in LibraryChoice
};

[[nodiscard]] Rule mpich_rule(const topology::Layout& layout, const LibraryCall& call);
[[nodiscard]] Rule openmpi_rule(const topology::Layout& layout, const LibraryCall& call);

// "NAME:KEY=VALUE,KEY=VALUE", without the keys that have no value.
using Values = std::initializer_list<std::pair<std::string_view, std::string>>;
[[nodiscard]] std::string choice_of(std::string_view name, Values values);

// So many equal factors that their product is at least `members`, each sign.
[[nodiscard]] std::string factors_of(std::int32_t factor, std::size_t members, Signs signs);
// One factor; none for a single member.
[[nodiscard]] std::string all_at_once(std::size_t members, Signs signs);
// Recursive doubling, or halving and doubling, of the largest power of two of the members.
[[nodiscard]] std::string folded_twos(std::size_t members, Signs signs);

// What several algorithms of both libraries come to.
[[nodiscard]] std::string halving(std::string_view part, std::size_t ranks); // of reduce and reduce_scatter
[[nodiscard]] std::string scatter_and_allgather(std::size_t members);        // of bcast: the factors

[[nodiscard]] inline std::size_t ranks_of(const topology::Layout& layout) {
  return static_cast<std::size_t>(layout.ranks());
}
[[nodiscard]] inline std::uint64_t elements_of(const LibraryCall& call) { return call.bytes / call.element_bytes; }

} // namespace stoker::algos
