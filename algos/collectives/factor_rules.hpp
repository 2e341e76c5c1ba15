// SPDX-License-Identifier: BSD-3-Clause
// Which factor lists work for how many members, and the presets.
#pragma once

#include "algos/collectives/factor_list.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stoker::algos {

// The magnitudes of a list's negative, or of its positive, factors.
[[nodiscard]] std::vector<std::size_t> dividing(const FactorList& factors);
[[nodiscard]] std::vector<std::size_t> gathering(const FactorList& factors);
[[nodiscard]] std::size_t product(std::span<const std::size_t> factors);

// The list of a recursive exchange among so many members, divided into its phases: at the end of the first each member
// has one part; `combining` factors complete its reduction, and `gathering` ones bring the parts together again.
struct Phases {
  std::vector<std::size_t> dividing;
  std::vector<std::size_t> combining;
  std::vector<std::size_t> gathering;

  [[nodiscard]] std::size_t parts() const { return product(dividing); }
};
[[nodiscard]] Phases phases_of(const FactorList& factors, std::size_t members);

// Which factors a list has: negative ones, positive ones, or both, negative ones first.
enum class Signs : std::uint8_t { dividing, gathering, both };

// The error in a list, with a list that works; "" if there is none. A recursive exchange: the negative factors multiply
// to a divisor of the members, the first positive ones complete it to their number (if both signs are there), the
// others multiply to that divisor. With one sign: to the number of members.
[[nodiscard]] std::string exchange_defect(const FactorList& factors, std::size_t members, Signs signs);
// The same for an exchange among the largest power of two of the members; the others stand back.
[[nodiscard]] std::string folded_defect(const FactorList& factors, std::size_t members, Signs signs);
// The list of an allreduce by cyclic shift, likewise. Neighbours divide the vector into as many `parts` as they are;
// those who have the same part complete it; and neighbours gather. There are as many groups of neighbours as the
// combining factors multiply to, which is 1 without them. Nothing if it is no such list.
struct CyclicPhases {
  std::size_t parts = 1;
  std::vector<std::size_t> dividing;
  std::vector<std::size_t> combining;
  std::vector<std::size_t> gathering;
};
[[nodiscard]] std::optional<CyclicPhases> cyclic_phases_of(const FactorList& factors, std::size_t members);

// Cyclic shift, and trees, of any number of members: the product of each sign is at least that number, and no factor
// can be left out or, in cyclic shift, be smaller in the last stage of the gathering. Cyclic shift with both signs also
// takes a list that completes parts in the middle.
[[nodiscard]] std::string cyclic_defect(const FactorList& factors, std::size_t members, Signs signs);
[[nodiscard]] std::string tree_defect(const FactorList& factors, std::size_t members, Signs signs);
// A scatter down a tree of the members, and a cyclic allgather among all of them but the root.
[[nodiscard]] std::string scatter_defect(const FactorList& factors, std::size_t members, Signs signs);

// The dimensions of a torus of so many members: they multiply to that number, and are even if there are several.
[[nodiscard]] std::string torus_defect(const FactorList& dimensions, std::size_t members);

// The prime factors of a number, bundled to at most `most` where they are not larger themselves; the least first.
[[nodiscard]] std::vector<std::size_t> bundled_factors(std::size_t members, std::size_t most);
// These factors, up to 8; twos; fours; the root to all others, and fours.
[[nodiscard]] FactorList exchange_factors(std::size_t members, Signs signs);
[[nodiscard]] FactorList folded_factors(std::size_t members, Signs signs);
[[nodiscard]] FactorList cyclic_factors(std::size_t members, Signs signs);
[[nodiscard]] FactorList scatter_factors(std::size_t members, Signs signs);
// As few factors up to `most` as there can be for so many members, and those as equal as they can be.
[[nodiscard]] FactorList even_factors(std::size_t members, std::size_t most, Signs signs);
// The one of the first and the third with fewer steps: an exchange, unless a prime factor of the members is large.
[[nodiscard]] FactorList exchange_or_cyclic_factors(std::size_t members, Signs signs);

} // namespace stoker::algos
