// SPDX-License-Identifier: BSD-3-Clause
// Which factor lists work for how many members, and the presets.
#pragma once

#include "algos/collectives/factor_list.hpp"

#include <cstddef>
#include <cstdint>
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
// Cyclic shift, and trees, of any number of members: the product of each sign is at least that number, and no factor
// can be left out or, in cyclic shift, be smaller in the last stage of the gathering.
[[nodiscard]] std::string cyclic_defect(const FactorList& factors, std::size_t members, Signs signs);
[[nodiscard]] std::string tree_defect(const FactorList& factors, std::size_t members, Signs signs);

// Prime factors, bundled up to 8; fours.
[[nodiscard]] FactorList exchange_factors(std::size_t members, Signs signs);
[[nodiscard]] FactorList cyclic_factors(std::size_t members, Signs signs);
// The one of the two with fewer steps: an exchange, unless a prime factor of the members is large.
[[nodiscard]] FactorList exchange_or_cyclic_factors(std::size_t members, Signs signs);

} // namespace stoker::algos
