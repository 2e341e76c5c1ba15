// SPDX-License-Identifier: BSD-3-Clause
#include "algos/select/search_space.hpp"

#include "algos/collectives/teams.hpp"
#include "algos/schedule/append.hpp"
#include "algos/select/family.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

namespace stoker::algos {

namespace {

using Numbers = std::vector<std::int32_t>;

class Collection {
public:
  explicit Collection(const topology::Layout& layout) : layout_(layout) {}

  // Unless it does not fit the layout, is there already, or has every rank know everybody's sizes in alltoallv.
  void add(const Choice& choice) {
    try {
      const Choice resolved = resolve(choice, layout_);
      const bool needs_all_sizes =
          resolved.algorithm->collective == Collective::alltoallv && knowledge_of(resolved) == Knowledge::all;
      if (!needs_all_sizes && std::ranges::find(choices_, resolved) == choices_.end()) {
        choices_.push_back(resolved);
      }
    } catch (const std::invalid_argument&) { // a value that does not go with this layout
    }
  }
  [[nodiscard]] std::vector<Choice> take() { return std::move(choices_); }

private:
  const topology::Layout& layout_;
  std::vector<Choice> choices_;
};

// A number that no layout limits is one of bytes.
constexpr std::int32_t most_ranks_of_layouts = 1 << 24;

// The values of a number, in their order.
Numbers values_of(const Parameter& parameter, const SearchProblem& problem) {
  const std::int32_t most = parameter.most(problem.layout);
  std::set<std::int32_t> values{std::min(parameter.preset(problem.layout), most)};
  if (most >= most_ranks_of_layouts) {
    constexpr std::int32_t least_bytes = 1 << 10;
    constexpr std::int32_t most_bytes = 1 << 22;
    for (std::int32_t bytes = least_bytes; bytes <= most_bytes; bytes *= 4) {
      if (static_cast<std::uint64_t>(bytes) < problem.bytes) {
        values.insert(bytes);
      }
    }
    return {values.begin(), values.end()};
  }
  for (std::int32_t power = 1; power <= most; power *= 2) {
    values.insert(power);
  }
  for (std::int32_t divisor = 1; divisor * divisor <= most; ++divisor) {
    if (most % divisor == 0) {
      values.insert({divisor, most / divisor});
    }
  }
  values.erase(values.begin(), values.lower_bound(parameter.least));
  return {values.begin(), values.end()};
}

std::vector<FlatExchange> exchanges() {
  using Kind = FlatExchange::Kind;
  return {{Kind::direct, 0}, {Kind::direct, 1}, {Kind::direct, 4}, {Kind::direct, 16},
          {Kind::radix, 0},  {Kind::radix, 2},  {Kind::radix, 4},  {Kind::radix, 8}};
}

FactorList list_of(std::span<const std::int32_t> factors) {
  FactorList list;
  for (const std::int32_t factor : factors) {
    list.add(factor);
  }
  return list;
}

// Two factors of the same sign joined or exchanged, or one split into two.
std::vector<FactorList> lists_near(const FactorList& list) {
  const Numbers factors(list.all().begin(), list.all().end());
  std::vector<FactorList> near;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const std::int32_t sign = factors[i] < 0 ? -1 : 1;
    for (std::int32_t part = 2; part * part <= sign * factors[i]; ++part) {
      if (factors[i] % part == 0 && factors.size() < FactorList::most) {
        Numbers split = factors;
        split[i] = factors[i] / part;
        split.insert(split.begin() + static_cast<std::ptrdiff_t>(i), sign * part);
        near.push_back(list_of(split));
      }
    }
    constexpr std::int32_t most = 1 << 15; // whose product is a number
    if (i + 1 < factors.size() && (factors[i] < 0) == (factors[i + 1] < 0) && sign * factors[i] < most &&
        sign * factors[i + 1] < most) {
      Numbers exchanged = factors;
      std::swap(exchanged[i], exchanged[i + 1]);
      near.push_back(list_of(exchanged));
      Numbers joined = factors;
      joined[i] = sign * factors[i] * factors[i + 1];
      joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      near.push_back(list_of(joined));
    }
  }
  return near;
}

// The next values on either side, those half of the way there, and, where that is not far, the next numbers.
Numbers numbers_near(std::int32_t value, const Numbers& values) {
  constexpr std::int32_t far = 64;
  Numbers near;
  const auto go_towards = [&](std::int32_t end) {
    const std::int32_t way = end - value;
    near.insert(near.end(), {end, value + (way / 2)});
    if (std::abs(way) <= far) {
      near.push_back(value + (way > 0 ? 1 : -1));
    }
  };
  if (const auto above = std::ranges::upper_bound(values, value); above != values.end()) {
    go_towards(*above);
  }
  if (const auto from = std::ranges::lower_bound(values, value); from != values.begin()) {
    go_towards(*(from - 1));
  }
  return near;
}

// Adds the choices that have another value of the parameter.
void vary(const Choice& choice, const Parameter& parameter, const SearchProblem& problem, Collection& into) {
  Choice changed = choice;
  if (parameter.exchange != nullptr) {
    for (const FlatExchange exchange : exchanges()) {
      changed.tuning.*parameter.exchange = exchange;
      into.add(changed);
    }
  } else if (parameter.factors != nullptr) {
    for (const FactorList& list : lists_near(choice.tuning.*parameter.factors)) {
      changed.tuning.*parameter.factors = list;
      into.add(changed);
    }
  } else {
    const Numbers values = values_of(parameter, problem);
    for (const std::int32_t value : numbers_near(choice.tuning.*parameter.number, values)) {
      changed.tuning.*parameter.number = value;
      into.add(changed);
    }
    if (parameter.domains && problem.layout.domains() > problem.layout.nodes()) {
      changed.tuning.*parameter.number = Parts::domains;
      into.add(changed);
    }
  }
}

bool is_searched(const Algorithm& algorithm) { return !algorithm.puts_into; }

} // namespace

std::vector<Choice> starting_points(const SearchProblem& problem) {
  std::vector<std::vector<Choice>> families;
  std::size_t most = 0;
  for (const Algorithm& algorithm : algorithms_of(problem.collective)) {
    if (is_searched(algorithm)) {
      families.push_back({resolve({&algorithm, {}}, problem.layout)});
      const std::vector<Choice> others = family(algorithm, problem.layout, problem.bytes);
      append(families.back(), others);
      most = std::max(most, families.back().size());
    }
  }
  Collection points(problem.layout);
  for (std::size_t i = 0; i < most; ++i) {
    for (const std::vector<Choice>& members : families) {
      if (i < members.size()) {
        points.add(members[i]);
      }
    }
  }
  return points.take();
}

std::vector<Choice> neighbors_of(const Choice& choice, const SearchProblem& problem) {
  Collection near(problem.layout);
  for (const Parameter& parameter : choice.algorithm->parameters) {
    vary(choice, parameter, problem, near);
  }
  std::vector<Choice> result = near.take();
  std::erase(result, choice);
  return result;
}

} // namespace stoker::algos
