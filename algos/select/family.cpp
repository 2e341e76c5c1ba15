// SPDX-License-Identifier: BSD-3-Clause
#include "algos/select/family.hpp"

#include "algos/collectives/factor_rules.hpp"
#include "algos/collectives/teams.hpp"
#include "algos/schedule/append.hpp"

#include <algorithm>
#include <cmath>

namespace stoker::algos {

namespace {

using Numbers = std::vector<std::int32_t>;

// Up to so many bytes, the number of messages counts; blocks that are longer should not be forwarded.
constexpr std::uint64_t short_block = 4096;
// Parts of a vector that is shorter are not worth a message each; one that is longer should be divided.
constexpr std::uint64_t short_vector = 1024;
constexpr std::uint64_t long_vector = std::uint64_t{256} * 1024;
// More partners than that are met in batches or in rounds.
constexpr int many = 16;

// What the values of parameters depend on.
struct Shape {
  const topology::Layout& layout;
  std::uint64_t bytes = 0;
  bool has_blocks = false;
  Pattern pattern = Pattern::exchange;
  Breadth breadth = Breadth::few;

  [[nodiscard]] int ranks() const { return layout.ranks(); }
  [[nodiscard]] int nodes() const { return layout.nodes(); }
  [[nodiscard]] int node() const { return (ranks() + nodes() - 1) / nodes(); }          // ranks of a node
  [[nodiscard]] int domains() const { return std::max(1, layout.domains() / nodes()); } // of a node
  [[nodiscard]] bool is_short() const { return bytes <= (has_blocks ? short_block : short_vector); }
};

int square_root(int n) { return static_cast<int>(std::ceil(std::sqrt(n))); }

// Powers of two, and what divides the ranks of a node evenly.
Numbers many_numbers(const Shape& shape) {
  Numbers result;
  for (int power = 1; power <= shape.ranks(); power *= 2) {
    result.push_back(power);
  }
  for (int divisor = 3; divisor <= shape.node(); ++divisor) {
    if (shape.node() % divisor == 0) {
      result.push_back(divisor);
    }
  }
  return result;
}

Numbers few_numbers(const Parameter& parameter, const Shape& shape) {
  const std::int32_t preset = parameter.preset == nullptr ? 0 : parameter.preset(shape.layout);
  if (parameter.number == &Tuning::batch) {
    return {many, 4, 2, preset, 8 * many, 4 * many};
  }
  if (parameter.number == &Tuning::radix) {
    return {preset, 2, 4, 8, shape.node(), shape.nodes()};
  }
  if (parameter.number == &Tuning::radix_within) {
    return {preset, 2, 4, 8};
  }
  if (parameter.number == &Tuning::radix_between) {
    return {preset, 2, 4, square_root(shape.nodes())};
  }
  if (parameter.number == &Tuning::leaders) {
    return {preset, 2, 4, shape.domains(), shape.node() / 2};
  }
  if (parameter.number == &Tuning::groups) {
    return {preset, 2, 4, shape.domains()};
  }
  if (parameter.number == &Tuning::lanes) {
    return shape.is_short() ? Numbers{1, 2, 4, shape.domains(), preset} : Numbers{preset, 1, 4, shape.domains()};
  }
  return {preset};
}

Numbers numbers(const Parameter& parameter, const Shape& shape) {
  Numbers result = few_numbers(parameter, shape);
  if (shape.breadth == Breadth::many && result.size() > 1) {
    const Numbers more = many_numbers(shape);
    append(result, more);
  }
  return result;
}

// One leader or group, or as many as there are ranks, are what a simpler algorithm has. Groups of a distributed vector
// may be whole nodes.
bool is_degenerate(const Parameter& parameter, std::int32_t value, const Shape& shape) {
  const bool whole_nodes = parameter.number == &Tuning::groups && shape.pattern == Pattern::distributed_vector;
  return (parameter.number == &Tuning::leaders || parameter.number == &Tuning::groups) &&
         ((value <= 1 && !whole_nodes) || value >= shape.node());
}

std::vector<FlatExchange> exchanges(const Parameter& parameter, const Shape& shape) {
  if (shape.breadth == Breadth::many) {
    return {{},
            {FlatExchange::Kind::direct, 1},
            {FlatExchange::Kind::direct, many},
            {FlatExchange::Kind::radix, 0},
            {FlatExchange::Kind::radix, 2}};
  }
  const bool between = parameter.exchange == &Tuning::between;
  std::vector<FlatExchange> result = {{}};
  if ((between ? shape.nodes() : shape.node()) > many) {
    result.push_back({FlatExchange::Kind::direct, many});
  }
  if (between && !shape.is_short()) {
    result.push_back({FlatExchange::Kind::direct, 1});
  }
  if (shape.is_short()) {
    result.push_back({FlatExchange::Kind::radix, 0});
  }
  return result;
}

// ---- factor lists ----

// As many times `factor` as it takes to reach a number; the last one no larger than it must be.
Numbers reaching_factors(int number, int factor) {
  Numbers factors;
  for (int reached = 1; reached < number; reached *= factors.back()) {
    factors.push_back(std::min(factor, (number + reached - 1) / reached));
  }
  return factors;
}

FactorList list_of(const Numbers& dividing, const Numbers& gathering) {
  FactorList list;
  for (const std::int32_t factor : Numbers(dividing.rbegin(), dividing.rend())) {
    list.add(-factor);
  }
  for (const std::int32_t factor : gathering) {
    list.add(factor);
  }
  return list;
}

// Whose list it is: that of all ranks, those of a node, nodes, or leaders or groups on all nodes.
int members_of(const Parameter& parameter, const Tuning& tuning, const Shape& shape) {
  if (parameter.factors == &Tuning::factors_between) {
    return shape.nodes() * std::max({1, tuning.leaders, tuning.groups});
  }
  return parameter.factors == &Tuning::factors_within ? shape.node() : shape.ranks();
}

// `tuning`: with the values of the parameters before.
std::vector<FactorList> factor_lists(const Parameter& parameter, const Tuning& tuning, const Shape& shape) {
  const int members = members_of(parameter, tuning, shape);
  std::vector<FactorList> result = {parameter.preset_factors(shape.layout, tuning)};
  const auto add = [&](const FactorList& list) {
    if (parameter.factors_defect(list, shape.layout, tuning).empty() &&
        std::ranges::find(result, list) == result.end()) {
      result.push_back(list);
    }
  };
  const auto add_signs = [&](const Numbers& factors) {
    if (static_cast<std::size_t>(FactorList::most) < 2 * factors.size()) {
      return;
    }
    const bool any = shape.has_blocks || shape.breadth == Breadth::many;
    const FactorList both = list_of(factors, factors);
    const bool may_divide = parameter.factors_defect(both, shape.layout, tuning).empty();
    if (any || !may_divide || shape.bytes < long_vector) {
      add(list_of({}, factors));
    }
    if (any || shape.bytes > short_vector) {
      add(both);
    }
    add(list_of(factors, {}));
  };
  if (members < 2) {
    return result;
  }
  Numbers few = {2, 3, 4, 6, 8, 12};
  if (shape.has_blocks) { // each stage more sends blocks once more
    few.push_back(2 * many);
  }
  const Numbers fewer = {2, 4}; // of lists within nodes, which are combined with those between them
  for (const int most : shape.breadth == Breadth::many                 ? Numbers{2, 3, 4, 5, 6, 8, 12, 16, 32}
                        : parameter.factors == &Tuning::factors_within ? fewer
                                                                       : few) {
    const auto bundled = bundled_factors(static_cast<std::size_t>(members), static_cast<std::size_t>(most));
    add_signs(Numbers(bundled.rbegin(), bundled.rend()));
    add_signs(reaching_factors(members, most));
  }
  if (members <= 2 * many || shape.has_blocks || shape.breadth == Breadth::many) {
    add_signs({members});
  }
  if (members == shape.ranks() && shape.nodes() > 1 && shape.node() > 1) { // node by node
    add_signs({shape.node(), shape.nodes()});
    add_signs({shape.nodes(), shape.node()});
  }
  return result;
}

} // namespace

std::vector<Choice> family(const Algorithm& algorithm, const topology::Layout& layout, std::uint64_t bytes,
                           Breadth breadth) {
  const Shape shape{.layout = layout,
                    .bytes = bytes,
                    .has_blocks = has_blocks(algorithm.collective),
                    .pattern = pattern_of(algorithm.collective),
                    .breadth = breadth};
  std::vector<Tuning> tunings = {{}};
  for (const Parameter& parameter : algorithm.parameters) {
    std::vector<Tuning> more;
    const auto vary = [&](auto Tuning::*field, const auto& values) {
      for (const Tuning& tuning : tunings) {
        for (const auto& value : values) {
          more.push_back(tuning);
          more.back().*field = value;
        }
      }
    };
    if (parameter.number != nullptr) {
      Numbers values = numbers(parameter, shape);
      const int most = parameter.most == nullptr ? values.front() : parameter.most(layout);
      std::erase_if(values, [&](std::int32_t value) {
        return value < parameter.least || value > most || is_degenerate(parameter, value, shape);
      });
      vary(parameter.number, values);
    } else if (parameter.exchange != nullptr) {
      vary(parameter.exchange, exchanges(parameter, shape));
    } else if (parameter.factors != nullptr) {
      for (const Tuning& tuning : tunings) {
        for (const FactorList& list : factor_lists(parameter, tuning, shape)) {
          more.push_back(tuning);
          more.back().*parameter.factors = list;
        }
      }
    }
    tunings = std::move(more);
  }
  std::vector<Choice> result;
  for (const Tuning& tuning : tunings) {
    const Choice choice = resolve({&algorithm, tuning}, layout);
    if (std::ranges::find(result, choice) == result.end()) {
      result.push_back(choice);
    }
  }
  return result;
}

} // namespace stoker::algos
