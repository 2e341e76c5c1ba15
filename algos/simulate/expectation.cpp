// SPDX-License-Identifier: BSD-3-Clause
#include "algos/simulate/expectation.hpp"

#include "algos/select/init_cost.hpp"
#include "algos/simulate/estimate.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker::algos {

namespace {

// Whether a simulation of so many steps and slices takes a tenth of a second, about; or a quarter, and a start of what
// is simulated takes no less. An all-to-all is estimated well, and has many more of them.
bool is_quick(Pattern pattern, std::uint64_t all, double estimate) {
  constexpr std::uint64_t quick = 280'000;
  constexpr std::uint64_t quick_exchange = 1U << 14U;
  constexpr std::uint64_t quarter_of_a_second = 1'100'000;
  constexpr double seconds_each = 0.25e-6;
  return all <= (pattern == Pattern::exchange ? quick_exchange : quick) ||
         (all <= quarter_of_a_second && static_cast<double>(all) * seconds_each <= estimate);
}

std::vector<Program> programs_of_node(const topology::Layout& layout, const ProgramOf& program_of, int node) {
  std::vector<Program> programs;
  for (const int rank : layout.node_ranks(node)) {
    programs.push_back(program_of(rank));
  }
  return programs;
}

// All but the seconds.
Expectation compiled(std::span<const Program> node) {
  Expectation result;
  for (const Program& program : node) {
    result.compiled += program.steps.size() + program.slices.size();
    result.init_seconds = std::max(result.init_seconds, init_seconds(program));
  }
  return result;
}

// Blocks, parts or segments go from rank to rank. How many ranks they have passed before no rank's program tells.
bool is_pipeline(const Algorithm& algorithm) {
  constexpr std::array<std::string_view, 5> names = {"chain", "scatter-ring", "two-tree", "ring", "neighbor-exchange"};
  return std::ranges::find(names, algorithm.name) != names.end();
}

// How many times an estimate counts beside simulated times. That of an all-to-all is good. Others tend to be too low,
// since what comes from elsewhere may come later than what this node has sent.
double doubt(const Algorithm& algorithm) {
  constexpr double some = 1.3;
  return is_pipeline(algorithm)                                  ? std::numeric_limits<double>::infinity()
         : pattern_of(algorithm.collective) == Pattern::exchange ? 1
                                                                 : some;
}

} // namespace

std::uint64_t typical_bytes(std::uint64_t bytes, std::uint64_t element_bytes) {
  const std::uint64_t elements = (bytes + element_bytes - 1) / element_bytes;
  constexpr int significant = 3;
  const auto low = static_cast<unsigned>(std::max(0, static_cast<int>(std::bit_width(elements)) - significant));
  return ((elements + (std::uint64_t{1} << low) - 1) >> low << low) * element_bytes;
}

Program compile(const Choice& choice, const TypicalCall& call, int rank) {
  const int ranks = call.layout.ranks();
  if (pattern_of(call.collective) == Pattern::exchange) {
    const auto sizes = BlockSizes::uniform(ranks, call.bytes);
    const std::vector<std::uint64_t> offsets = equal_offsets(ranks, call.bytes);
    return compile(choice, Exchange{.layout = call.layout,
                                    .rank = rank,
                                    .sizes = sizes,
                                    .send_offsets = offsets,
                                    .recv_offsets = offsets,
                                    .put_offsets = std::vector<std::uint64_t>(
                                        offsets.size(), offsets[static_cast<std::size_t>(rank)])});
  }
  const std::size_t blocks = call.collective == Collective::barrier ? 0
                             : has_blocks(call.collective)          ? static_cast<std::size_t>(ranks)
                                                                    : 1;
  return compile(choice,
                 DistributedVector{
                     .layout = call.layout,
                     .rank = rank,
                     .root = call.root,
                     .element_bytes = call.element_bytes,
                     .sizes = std::vector<std::uint64_t>(blocks, call.bytes),
                     .offsets = blocks > 1 ? equal_offsets(ranks, call.bytes) : std::vector<std::uint64_t>(blocks),
                     .put_offsets = std::vector<std::uint64_t>(blocks, static_cast<std::uint64_t>(rank) * call.bytes),
                     .commutative = call.commutative});
}

Scenario scenario_of(Driver driver, const topology::Layout& layout) {
  Scenario scenario;
  if (driver == Driver::helper) {
    std::map<int, std::set<int>> domains; // by node
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      domains[layout.node_of(rank)].insert(layout.domain_of(rank));
    }
    scenario.progress = Progress::helper;
    scenario.helpers_per_node = static_cast<int>(
        std::ranges::min_element(domains, {}, [](const auto& node) { return node.second.size(); })->second.size());
  }
  return scenario;
}

Expectation estimate(const topology::Layout& layout, const Machine& machine, Driver driver, const ProgramOf& program_of,
                     int node) {
  const std::vector<Program> programs = programs_of_node(layout, program_of, node);
  Expectation result = compiled(programs);
  result.seconds = estimated(programs, layout, machine, driver).seconds;
  return result;
}

Expectation expectation(const Choice& choice, const TypicalCall& call, const Machine& machine, Driver driver) {
  const topology::Layout& layout = call.layout;
  const int node = layout.node_of(call.root);
  const auto program_of = [&](int rank) { return compile(choice, call, rank); };
  std::vector<Program> programs = programs_of_node(layout, program_of, node);
  Expectation result = compiled(programs);
  const Estimate estimate = estimated(programs, layout, machine, driver);
  const std::uint64_t all =
      result.compiled / programs.size() * static_cast<std::uint64_t>(layout.ranks()) + result.compiled;
  if (!is_quick(pattern_of(call.collective), all, estimate.seconds)) {
    result.seconds = estimate.seconds * doubt(*choice.algorithm);
    if (pattern_of(call.collective) == Pattern::exchange) {
      result.seconds += estimate.seconds_at_risk;
    }
    return result;
  }
  const auto known = [&](int rank) {
    return layout.node_of(rank) == node ? std::move(programs[static_cast<std::size_t>(layout.local_index(rank))])
                                        : program_of(rank);
  };
  result.seconds = simulate(layout, machine, known, scenario_of(driver, layout)).seconds;
  result.compiled = all;
  result.simulated = true;
  return result;
}

} // namespace stoker::algos
