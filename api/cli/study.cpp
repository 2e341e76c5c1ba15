// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/study.hpp"

#include "algos/libraries/library_rules.hpp"
#include "api/cli/default_choice.hpp"
#include "api/cli/machines.hpp"
#include "api/cli/point_runner.hpp"
#include "api/cli/units.hpp"
#include "engine/shared/memory_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace stoker::cli {
namespace {

using algos::Collective;
using algos::Progress;

constexpr std::array<std::string_view, 3> progress_names = {"rank", "helper", "shared-helper"};
constexpr std::string_view all_algorithms = "all";

Collective collective_of(const std::string& name) {
  const auto collective = algos::find_collective(name);
  if (!collective) {
    std::string names;
    for (std::size_t c = 0; c < algos::collectives_with_algorithms; ++c) {
      names += fmt::format(" {}", algos::name_of(static_cast<Collective>(c)));
    }
    throw std::invalid_argument(fmt::format("{}: expected one of{}", name, names));
  }
  return *collective;
}

// "0-3,112".
std::vector<int> ranks_in(const std::string& list, int ranks) {
  std::vector<int> result;
  const auto refuse = [&] {
    throw std::invalid_argument(fmt::format("--observe {}: expected ranks from 0 to {}, as in 0-3,8", list, ranks - 1));
  };
  const char* at = list.data();
  const char* const end = at + list.size();
  const auto number = [&] {
    int value = -1;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || value < 0 || value >= ranks) {
      refuse();
    }
    at = next;
    return value;
  };
  while (at != end) {
    const int first = number();
    const int last = at != end && *at == '-' ? (++at, number()) : first;
    for (int rank = first; rank <= last; ++rank) {
      result.push_back(rank);
    }
    if (at != end && *at++ != ',') {
      refuse();
    }
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

algos::Scenario scenario_of(const SimulateOptions& options, const Study& study) {
  algos::Scenario scenario;
  const auto* const progress = std::ranges::find(progress_names, options.progress);
  scenario.progress = static_cast<Progress>(progress - progress_names.begin());
  const int domains = study.machine.domains_per_node;
  scenario.helpers_per_node = options.helpers_per_node > 0 ? options.helpers_per_node : domains;
  if (domains % scenario.helpers_per_node != 0) {
    throw std::invalid_argument(fmt::format("--helpers {}: expected a divisor of {}, the number of domains of a node",
                                            options.helpers_per_node, domains));
  }
  constexpr double microsecond = 1e-6;
  scenario.computation = options.computation_us * microsecond;
  scenario.test_every = options.test_every_us * microsecond;
  scenario.late = options.late_us * microsecond;
  scenario.seed = options.seed;
  // As the engine does: see algos::LongMessages.
  scenario.long_messages =
      study.machine.remote_reads ? algos::LongMessages::rendezvous : algos::LongMessages::announced;
  if (!options.svg.empty() || !options.trace.empty()) {
    scenario.observed = ranks_in(options.observed, study.call.layout.ranks());
  }
  return scenario;
}

std::vector<algos::Choice> choices_of(const SimulateOptions& options, const Study& study) {
  std::vector<std::string> names = options.algorithms;
  if (names.empty() && options.libraries.empty()) {
    names.emplace_back(all_algorithms);
  }
  std::vector<algos::Choice> choices;
  for (const std::string& name : names) {
    if (name != all_algorithms) {
      choices.push_back(resolve(algos::parse_choice(study.call.collective, name), study.call.layout));
      continue;
    }
    for (const algos::Algorithm& algorithm : algorithms_of(study.call.collective)) {
      choices.push_back(algos::resolve({&algorithm, {}}, study.call.layout));
    }
  }
  return choices;
}

// A library's own progress is that of ranks inside its calls, and it asks before it sends a long message.
Study::Row row_of(algos::Library library, const Study& study, algos::Scenario scenario) {
  scenario.progress = Progress::rank;
  scenario.long_messages = algos::LongMessages::rendezvous;
  Study::Row row{.name = std::string(algos::name_of(library)), .scenario = std::move(scenario)};
  for (const std::uint64_t bytes : study.bytes) {
    const std::uint64_t mean = study.call.mean_bytes(bytes);
    const algos::LibraryChoice taken =
        library_choice(library, study.call.layout,
                       {.collective = study.call.collective, .bytes = mean, .element_bytes = element_bytes(mean)});
    row.choices.push_back(taken.choice);
    row.notes.push_back(fmt::format("{}{}{}", taken.algorithm, taken.difference.empty() ? "" : "; ", taken.difference));
  }
  return row;
}

// Threads that make the programs of a simulation, where there are more jobs than points.
int compilers_of(const Study& study, int jobs) {
  return std::max(1, jobs / static_cast<int>(study.rows.size() * study.bytes.size()));
}

struct Need {
  std::uint64_t bytes;
  const Study::Row* row;
  std::size_t size; // index
};

// The most nodes, as many ranks on each as now, on which it fits into so much memory; 0: none.
int nodes_that_fit(const Study& study, const Need& need, std::uint64_t available) {
  const int ranks_per_node = study.machine.ranks_per_node;
  int fit = 0;
  for (int too_many = study.call.grid.empty() ? study.call.layout.nodes() : 0; too_many - fit > 1;) {
    const int nodes = fit + ((too_many - fit) / 2);
    const Call smaller = study.call.on(
        topology::Layout::uniform(nodes * ranks_per_node, ranks_per_node, study.machine.domains_per_node));
    const algos::Choice choice = resolve(need.row->choices[need.size], smaller.layout, algos::Misfit::adapt);
    (memory_to_simulate(choice, smaller, study.bytes[need.size]) <= available ? fit : too_many) = nodes;
  }
  return fit;
}

} // namespace

std::string Study::title() const {
  const int nodes = call.layout.nodes();
  return fmt::format("{} on {}, {} ranks on {} node{}", call.title(), machine.name, call.layout.ranks(), nodes,
                     nodes == 1 ? "" : "s");
}

Study study_of(const SimulateOptions& options) {
  const Collective collective = collective_of(options.collective);
  const algos::Machine machine =
      part_of(find_machine(options.machine), options.ranks_per_node, options.domains_per_node);
  constexpr std::int64_t most_ranks = std::int64_t{1} << 22U;
  if (std::int64_t{options.nodes} * machine.ranks_per_node > most_ranks) {
    throw std::invalid_argument(fmt::format("--nodes {} with {} ranks on each: expected {} ranks at most",
                                            options.nodes, machine.ranks_per_node, most_ranks));
  }
  Study study{.call = {.collective = collective,
                       .layout = topology::Layout::uniform(options.nodes * machine.ranks_per_node,
                                                           machine.ranks_per_node, machine.domains_per_node),
                       .root = options.root},
              .machine = machine,
              .bytes = options.bytes,
              .rows = {}};
  if (collective == Collective::barrier) {
    study.bytes = {0};
  }
  if (options.root >= study.call.layout.ranks()) {
    throw std::invalid_argument(
        fmt::format("--root {}: expected 0 to {}", options.root, study.call.layout.ranks() - 1));
  }
  set_pattern(study.call, options.grid, options.matrix);
  const algos::Scenario scenario = scenario_of(options, study);
  if (scenario.progress != Progress::rank && options.algorithms.empty() && !options.libraries.empty()) {
    throw std::invalid_argument(fmt::format(
        "--progress {}: the MPI library has no helpers; expected an algorithm beside --library", options.progress));
  }
  for (const algos::Choice& choice : choices_of(options, study)) {
    study.rows.push_back(
        {.name = to_text(choice), .choices = std::vector(study.bytes.size(), choice), .scenario = scenario});
  }
  for (const std::string& name : options.libraries) {
    study.rows.push_back(row_of(*algos::find_library(name), study, scenario));
  }
  if ((!options.svg.empty() || !options.trace.empty()) && (study.rows.size() != 1 || study.bytes.size() != 1)) {
    throw std::invalid_argument(fmt::format("{}: expected one algorithm and one size, not {} and {}",
                                            options.svg.empty() ? "--trace" : "--svg", study.rows.size(),
                                            study.bytes.size()));
  }
  return study;
}

void check_memory(const Study& study, int jobs) {
  const std::uint64_t available = engine::available_memory();
  const int compilers = compilers_of(study, jobs);
  std::vector<Need> needs;
  for (const Study::Row& row : study.rows) {
    for (std::size_t b = 0; b < study.bytes.size(); ++b) {
      needs.push_back({memory_to_simulate(row.choices[b], study.call, study.bytes[b], compilers), &row, b});
    }
  }
  std::ranges::sort(needs, std::greater<>(), &Need::bytes);
  const auto gibibytes = [](std::uint64_t bytes) {
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
  };
  if (const Need& most = needs.front(); most.bytes > available) {
    const int fit = nodes_that_fit(study, most, available);
    throw std::invalid_argument(
        fmt::format("{}, {}, {}: needs some {} of memory, and there are {}; expected {}", study.title(),
                    to_text(most.row->choices[most.size]), bytes_text(study.bytes[most.size]), gibibytes(most.bytes),
                    gibibytes(available),
                    fit > 0 ? fmt::format("--nodes {} at most, or other algorithms", fit) : "other algorithms"));
  }
  std::uint64_t together = 0;
  for (std::size_t i = 0; i < std::min(needs.size(), static_cast<std::size_t>(jobs)); ++i) {
    together += needs[i].bytes;
    if (together > available) {
      throw std::invalid_argument(fmt::format("--jobs {}: {} simulations at once need some {} of memory, and there are "
                                              "{}; expected --jobs {} at most",
                                              jobs, i + 1, gibibytes(together), gibibytes(available), i));
    }
  }
}

void run(Study& study, int jobs) {
  const int compilers = compilers_of(study, jobs);
  std::vector<Point> points;
  for (const Study::Row& row : study.rows) {
    for (std::size_t b = 0; b < study.bytes.size(); ++b) {
      points.push_back({fmt::format("{}, {}", row.name, bytes_text(study.bytes[b])),
                        [&study, &row, b, compilers](const algos::OnProgress& on_progress) {
                          return algos::simulate(study.call.layout, study.machine,
                                                 programs_of(row.choices[b], study.call, study.bytes[b]), row.scenario,
                                                 on_progress, compilers);
                        }});
    }
  }
  std::vector<algos::Outcome> outcomes = run_points(points, jobs);
  auto next = outcomes.begin();
  for (Study::Row& row : study.rows) {
    const auto end = next + static_cast<std::ptrdiff_t>(study.bytes.size());
    row.outcomes.assign(std::make_move_iterator(next), std::make_move_iterator(end));
    next = end;
  }
}

void find_defaults(Study& study) {
  const algos::Driver driver =
      study.rows.front().scenario.progress == Progress::rank ? algos::Driver::rank : algos::Driver::helper;
  for (const std::uint64_t bytes : study.bytes) {
    study.defaults.push_back(default_choice(study.call, study.machine, driver, bytes));
  }
}

} // namespace stoker::cli
