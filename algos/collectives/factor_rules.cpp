// SPDX-License-Identifier: BSD-3-Clause
#include "algos/collectives/factor_rules.hpp"

#include <algorithm>
#include <bit>
#include <ranges>

namespace stoker::algos {

namespace {

using Factors = std::vector<std::size_t>;

FactorList signed_list(const Factors& dividing, const Factors& gathering, Signs signs) {
  FactorList list;
  if (signs != Signs::gathering) {
    for (const std::size_t factor : dividing) {
      list.add(-static_cast<std::int32_t>(factor));
    }
  }
  if (signs != Signs::dividing) {
    for (const std::size_t factor : gathering) {
      list.add(static_cast<std::int32_t>(factor));
    }
  }
  return list;
}

std::string expected(const FactorList& list, std::size_t members) {
  return " for " + std::to_string(members) + " members; expected" +
         (list.empty() ? " no factors" : ", for example, " + to_text(list));
}

// Which signs there are, and in which order.
std::string sign_defect(const FactorList& factors, Signs signs) {
  const auto all = factors.all();
  const auto negative = [](std::int32_t factor) { return factor < 0; };
  if (signs == Signs::dividing && !std::ranges::all_of(all, negative)) {
    return "has a positive factor, but there is nothing to gather,";
  }
  if (signs == Signs::gathering && std::ranges::any_of(all, negative)) {
    return "has a negative factor, but there is nothing to divide,";
  }
  return std::ranges::is_partitioned(all, negative) ? "" : "has a negative factor behind a positive one";
}

// One sign of a list for cyclic shift or a tree, in the order of an allgather.
std::string product_defect(const Factors& factors, std::size_t members, bool least_last) {
  std::size_t held = 1;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (held >= members) {
      return "has more factors than it takes";
    }
    const std::size_t needed = (members + held - 1) / held;
    if (least_last && i + 1 == factors.size() && factors[i] > needed) {
      return "has a product that is too large: " + std::to_string(needed) + " would do in the place of " +
             std::to_string(factors[i]);
    }
    held *= factors[i];
  }
  return held < members ? "has a product that is too small, " + std::to_string(held) + "," : "";
}

std::string each_sign_defect(const FactorList& factors, std::size_t members, Signs signs, bool least_last,
                             const FactorList& example) {
  std::string defect = sign_defect(factors, signs);
  Factors reduced = dividing(factors);
  std::ranges::reverse(reduced);
  if (defect.empty() && signs != Signs::gathering) {
    defect = product_defect(reduced, members, least_last);
  }
  if (defect.empty() && signs != Signs::dividing) {
    defect = product_defect(gathering(factors), members, least_last);
  }
  return defect.empty() ? defect : defect + expected(example, members);
}

} // namespace

Factors dividing(const FactorList& factors) {
  Factors result;
  for (const std::int32_t factor : factors.all()) {
    if (factor < 0) {
      result.push_back(static_cast<std::size_t>(-static_cast<std::int64_t>(factor)));
    }
  }
  return result;
}

Factors gathering(const FactorList& factors) {
  Factors result;
  for (const std::int32_t factor : factors.all()) {
    if (factor > 0) {
      result.push_back(static_cast<std::size_t>(factor));
    }
  }
  return result;
}

std::size_t product(std::span<const std::size_t> factors) {
  constexpr std::size_t most = std::size_t{1} << 40U; // far above any number of members, far below overflow
  std::size_t result = 1;
  for (const std::size_t factor : factors) {
    result = factor > most / result ? most : result * factor;
  }
  return result;
}

Phases phases_of(const FactorList& factors, std::size_t members) {
  Phases phases;
  phases.dividing = dividing(factors);
  std::size_t combined = phases.parts();
  for (const std::size_t factor : gathering(factors)) {
    (combined < members ? phases.combining : phases.gathering).push_back(factor);
    combined *= combined < members ? factor : 1;
  }
  return phases;
}

std::string exchange_defect(const FactorList& factors, std::size_t members, Signs signs) {
  std::string defect = sign_defect(factors, signs);
  if (defect.empty() && signs != Signs::both) {
    const std::size_t all = product(signs == Signs::dividing ? dividing(factors) : gathering(factors));
    if (all != members) {
      defect = "has a product of " + std::to_string(all);
    }
  } else if (defect.empty()) {
    const Phases phases = phases_of(factors, members);
    const std::size_t combined = product(phases.combining);
    const std::size_t gathered = product(phases.gathering);
    if (members % phases.parts() != 0 || phases.parts() * combined != members) {
      defect = phases.parts() * combined < members ? "has a product that is too small to combine all operands"
                                                   : "has factors that do not multiply to the number of operands";
    } else if (gathered != phases.parts()) {
      defect = "divides the vector into " + std::to_string(phases.parts()) + " parts, but gathers " +
               std::to_string(gathered);
    }
  }
  return defect.empty() ? defect : defect + expected(exchange_factors(members, signs), members);
}

std::string folded_defect(const FactorList& factors, std::size_t members, Signs signs) {
  return exchange_defect(factors, std::bit_floor(members), signs);
}

std::optional<CyclicPhases> cyclic_phases_of(const FactorList& factors, std::size_t members) {
  if (!sign_defect(factors, Signs::both).empty()) {
    return std::nullopt;
  }
  CyclicPhases phases{
      .parts = members, .dividing = dividing(factors), .combining = {}, .gathering = gathering(factors)};
  const Factors backward(phases.dividing.rbegin(), phases.dividing.rend());
  const auto fits = [&](const Factors& list) { return product_defect(list, phases.parts, true).empty(); };
  while (!fits(backward) || !fits(phases.gathering)) {
    if (phases.gathering.empty() || phases.parts % phases.gathering.front() != 0) {
      return std::nullopt;
    }
    phases.parts /= phases.gathering.front();
    phases.combining.push_back(phases.gathering.front());
    phases.gathering.erase(phases.gathering.begin());
  }
  return phases;
}

std::string cyclic_defect(const FactorList& factors, std::size_t members, Signs signs) {
  if (signs == Signs::both && cyclic_phases_of(factors, members)) {
    return "";
  }
  return each_sign_defect(factors, members, signs, true, cyclic_factors(members, signs));
}

std::string tree_defect(const FactorList& factors, std::size_t members, Signs signs) {
  return each_sign_defect(factors, members, signs, false, cyclic_factors(members, signs));
}

std::string scatter_defect(const FactorList& factors, std::size_t members, Signs signs) {
  std::string defect = sign_defect(factors, signs);
  Factors from_leaves = dividing(factors);
  std::ranges::reverse(from_leaves);
  if (defect.empty()) {
    defect = product_defect(from_leaves, members, false);
  }
  if (defect.empty()) {
    defect = product_defect(gathering(factors), std::max<std::size_t>(1, members - 1), true);
  }
  return defect.empty() ? defect : defect + expected(scatter_factors(members, signs), members);
}

std::string torus_defect(const FactorList& dimensions, std::size_t members) {
  const auto all = dimensions.all();
  std::string defect = sign_defect(dimensions, Signs::gathering);
  if (defect.empty() && product(gathering(dimensions)) != members) {
    defect = "has a product of " + std::to_string(product(gathering(dimensions)));
  } else if (defect.empty() && all.size() > 1 &&
             std::ranges::any_of(all, [](std::int32_t size) { return size % 2 != 0; })) {
    defect = "has an odd dimension beside others,";
  }
  const std::string one = std::to_string(members);
  return defect.empty() ? defect : defect + " for " + one + " members; expected, for example, " + one;
}

std::vector<std::size_t> bundled_factors(std::size_t members, std::size_t most) {
  Factors factors;
  for (std::size_t prime = 2, rest = members; rest > 1; ++prime) {
    prime = prime * prime > rest ? rest : prime;
    for (; rest % prime == 0; rest /= prime) {
      if (!factors.empty() && factors.back() * prime <= most) {
        factors.back() *= prime;
      } else {
        factors.push_back(prime);
      }
    }
  }
  std::ranges::sort(factors);
  return factors;
}

FactorList exchange_factors(std::size_t members, Signs signs) {
  constexpr std::size_t most = 8;
  const Factors factors = bundled_factors(members, most);
  return signed_list(factors, {factors.rbegin(), factors.rend()}, signs);
}

FactorList folded_factors(std::size_t members, Signs signs) {
  const Factors factors(static_cast<std::size_t>(std::bit_width(members)) - 1, 2);
  return signed_list(factors, factors, signs);
}

FactorList cyclic_factors(std::size_t members, Signs signs) {
  Factors factors;
  for (std::size_t held = 1; held < members; held *= factors.back()) {
    factors.push_back(std::min<std::size_t>(4, (members + held - 1) / held));
  }
  return signed_list({factors.rbegin(), factors.rend()}, factors, signs);
}

FactorList even_factors(std::size_t members, std::size_t most, Signs signs) {
  const auto power = [](std::size_t base, std::size_t exponent) { return product(Factors(exponent, base)); };
  std::size_t count = 0;
  while (power(most, count) < members) {
    ++count;
  }
  std::size_t factor = 2;
  while (count > 0 && power(factor, count) < members) {
    ++factor;
  }
  Factors factors;
  for (std::size_t held = 1; held < members; held *= factors.back()) {
    factors.push_back(std::min(factor, (members + held - 1) / held));
  }
  return signed_list({factors.rbegin(), factors.rend()}, factors, signs);
}

FactorList scatter_factors(std::size_t members, Signs /*signs*/) {
  FactorList list;
  if (members > 1) {
    list.add(-static_cast<std::int32_t>(members));
    const FactorList others = cyclic_factors(members - 1, Signs::gathering);
    for (const std::int32_t factor : others.all()) {
      list.add(factor);
    }
  }
  return list;
}

FactorList exchange_or_cyclic_factors(std::size_t members, Signs signs) {
  const FactorList exchange = exchange_factors(members, signs);
  constexpr std::int32_t large = 16;
  return std::ranges::all_of(exchange.all(), [](std::int32_t f) { return f >= -large && f <= large; })
             ? exchange
             : cyclic_factors(members, signs);
}

} // namespace stoker::algos
