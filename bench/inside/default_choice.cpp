// SPDX-License-Identifier: BSD-3-Clause
// default-choice: how far the default choice of an algorithm is from the best of all, by simulation, on the machines of
// the files that are named. Needs no MPI. The default chooses among few members of each family, by what init expects of
// them; the best is looked for among many members.
#include "algos/select/selection.hpp"
#include "algos/simulate/estimate.hpp"
#include "algos/simulate/expectation.hpp"
#include "engine/settings/machine_file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stoker::bench {
namespace {

using namespace algos;

struct Options {
  std::vector<std::string> machines;
  std::vector<int> nodes = {2, 16, 64, 256};
  std::vector<std::string> collectives = {"alltoall",  "alltoallv", "allreduce", "reduce",  "bcast", "reduce_scatter",
                                          "allgather", "gather",    "scatter",   "barrier", "scan",  "exscan"};
  std::vector<std::uint64_t> bytes = {8, 256, 8192, 262144, 4194304};
  int most_ranks_per_node = 8;
  bool helpers = false;
  double late = 0; // seconds, of a rank in the mean
  std::uint64_t most_work = 300'000;
  std::string json;
};

// A default choice beside the best of those that were simulated.
struct Result {
  std::string machine{};
  std::string collective{};
  int nodes = 0;
  int ranks = 0;
  std::uint64_t bytes = 0;
  std::string taken{}, best{};
  double taken_seconds = 0, best_seconds = std::numeric_limits<double>::infinity();
  std::size_t candidates = 0; // of the default
  std::size_t simulated = 0;  // of all; the others cannot be the best
  std::size_t left_out = 0;   // too large, and may be better
  std::uint64_t compiled = 0; // steps and slices of the candidate that took most

  [[nodiscard]] double ratio() const { return best_seconds > 0 ? taken_seconds / best_seconds : 1; }
};

// What the programs of the first node's ranks tell about a choice.
struct FirstNode {
  FirstNode(const Choice& choice, const TypicalCall& call, const Machine& machine, Driver driver) {
    std::vector<Program> programs;
    for (const int rank : call.layout.node_ranks(0)) {
      programs.push_back(compile(choice, call, rank));
      compiled += (programs.back().steps.size() + programs.back().slices.size()) *
                  static_cast<std::uint64_t>(call.layout.nodes());
    }
    estimate = estimated(programs, call.layout, machine, driver).seconds;
    least = least_seconds(programs, call.layout, machine, driver);
  }
  double estimate = 0;        // of the seconds
  double least = 0;           // which no simulation will go below
  std::uint64_t compiled = 0; // steps and slices of all ranks, as if all nodes were the first
};

// Nothing where the default choice itself is too large to be simulated.
std::optional<Result> compare(const TypicalCall& call, const Machine& machine, const Options& options) {
  const Driver driver = options.helpers ? Driver::helper : Driver::rank;
  Result result{.machine = machine.name,
                .collective = std::string(name_of(call.collective)),
                .nodes = call.layout.nodes(),
                .ranks = call.layout.ranks(),
                .bytes = call.bytes};
  const std::vector<Choice> few = candidates(call.collective, call.layout, call.bytes);
  std::vector<double> seconds;
  std::vector<bool> is_simulated;
  for (const Choice& choice : few) {
    const Expectation expected = expectation(choice, call, machine, driver);
    seconds.push_back(expected.seconds);
    is_simulated.push_back(expected.simulated && options.late == 0);
    result.compiled = std::max(result.compiled, expected.compiled);
  }
  const std::size_t taken = preferred(seconds);
  result.candidates = few.size();
  result.taken = to_text(few[taken]);

  const auto program_of = [&](const Choice& choice) {
    return [&call, choice](int rank) { return compile(choice, call, rank); };
  };
  // Infinite where it takes longer than the best so far.
  const auto time = [&](const Choice& choice) {
    Scenario scenario = scenario_of(driver, call.layout);
    scenario.late = options.late;
    scenario.give_up_after = result.best_seconds;
    return simulate(call.layout, machine, program_of(choice), scenario).seconds;
  };
  const FirstNode first_of_taken(few[taken], call, machine, driver);
  if (!is_simulated[taken] && first_of_taken.compiled > options.most_work) {
    return std::nullopt;
  }
  result.taken_seconds = is_simulated[taken] ? seconds[taken] : time(few[taken]);
  const auto compare_with = [&](const Choice& choice, double other) {
    ++result.simulated;
    if (other < result.best_seconds) {
      result.best_seconds = other;
      result.best = to_text(choice);
    }
  };
  compare_with(few[taken], result.taken_seconds);

  std::vector<std::pair<FirstNode, Choice>> others;
  const auto add = [&](const Choice& choice) {
    const FirstNode first(choice, call, machine, driver);
    // Estimates of all-to-alls are good: what is expected to take half as long again need not be simulated.
    constexpr double hopeless = 1.5;
    if (pattern_of(call.collective) != Pattern::exchange || first.estimate <= hopeless * result.best_seconds) {
      others.emplace_back(first, choice);
    }
  };
  for (std::size_t i = 0; i < few.size(); ++i) {
    if (is_simulated[i]) {
      compare_with(few[i], seconds[i]);
    } else if (i != taken) {
      add(few[i]);
    }
  }
  for (const Choice& choice : candidates(call.collective, call.layout, call.bytes, true, Breadth::many)) {
    if (std::ranges::find(few, choice) == few.end()) {
      add(choice);
    }
  }
  // By their estimates, so that the best come early.
  std::ranges::stable_sort(others, {}, [](const auto& other) { return other.first.estimate; });
  for (const auto& [first, choice] : others) {
    if (first.least < result.best_seconds) {
      if (first.compiled > options.most_work) {
        ++result.left_out;
      } else {
        compare_with(choice, time(choice));
      }
    }
  }
  return result;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void print_summary(const std::vector<Result>& results, std::size_t too_large) {
  std::map<std::string, std::vector<const Result*>> groups;
  for (const Result& result : results) {
    groups[result.collective].push_back(&result);
    groups["all"].push_back(&result);
  }
  fmt::print("{:<16} {:>6} {:>7} {:>7}  where the worst is\n", "collective", "points", "median", "worst");
  for (const auto& [name, group] : groups) {
    std::vector<double> ratios;
    std::ranges::transform(group, std::back_inserter(ratios), [](const Result* r) { return r->ratio(); });
    const Result& worst = **std::ranges::max_element(group, {}, [](const Result* r) { return r->ratio(); });
    fmt::print("{:<16} {:>6} {:>7.3f} {:>7.3f}  {} on {}, {} nodes, {} ranks, {} B: {}, best {}\n", name, group.size(),
               median(ratios), worst.ratio(), worst.collective, worst.machine, worst.nodes, worst.ranks, worst.bytes,
               worst.taken, worst.best);
  }
  std::size_t left_out = 0;
  for (const Result& result : results) {
    left_out += result.left_out;
  }
  fmt::print("left out, because too large to be simulated: {} points, and {} of other points' competitors\n", too_large,
             left_out);
}

nlohmann::ordered_json to_json(const Result& r) {
  return {{"machine", r.machine},
          {"collective", r.collective},
          {"nodes", r.nodes},
          {"ranks", r.ranks},
          {"bytes", r.bytes},
          {"ratio", r.ratio()},
          {"taken", r.taken},
          {"taken_seconds", r.taken_seconds},
          {"best", r.best},
          {"best_seconds", r.best_seconds},
          {"candidates", r.candidates},
          {"simulated", r.simulated},
          {"left_out", r.left_out},
          {"compiled", r.compiled}};
}

void evaluate(const Options& options) {
  std::vector<Result> results;
  std::size_t too_large = 0;
  for (const std::string& path : options.machines) {
    const Machine machine = engine::read_machine(path);
    const int ranks_per_node = std::min(machine.ranks_per_node, options.most_ranks_per_node);
    for (const int nodes : options.nodes) {
      const auto layout = topology::Layout::uniform(nodes * ranks_per_node, ranks_per_node,
                                                    std::min(machine.domains_per_node, ranks_per_node));
      for (const std::string& name : options.collectives) {
        const Collective collective = find_collective(name).value();
        for (const std::uint64_t bytes : options.bytes) {
          if (collective == Collective::barrier && bytes != options.bytes.front()) {
            continue;
          }
          const TypicalCall call{.collective = collective,
                                 .layout = layout,
                                 .bytes = bytes,
                                 .element_bytes = std::min<std::uint64_t>(8, bytes)};
          if (const std::optional<Result> result = compare(call, machine, options)) {
            results.push_back(*result);
          } else {
            ++too_large;
          }
          fmt::print(stderr, "\r{} points, {} left out", results.size(), too_large);
        }
      }
    }
  }
  fmt::print(stderr, "\n");
  if (!options.json.empty()) {
    nlohmann::ordered_json json;
    std::ranges::transform(results, std::back_inserter(json), to_json);
    std::ofstream(options.json) << json.dump(1) << '\n';
  }
  if (!results.empty()) {
    print_summary(results, too_large);
  }
}

} // namespace
} // namespace stoker::bench

int main(int argc, char** argv) {
  using namespace stoker;
  bench::Options options;
  double microseconds = 0;
  CLI::App app("The default choice of an algorithm beside the best of all, by simulation");
  app.add_option("machines", options.machines, "machine files, as in docs/machines")->required();
  app.add_option("--nodes", options.nodes)->delimiter(',')->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--ppn", options.most_ranks_per_node, "ranks per node, where the machine has more")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--collectives", options.collectives)
      ->delimiter(',')
      ->check([](const std::string& name) {
        const auto found = algos::find_collective(name);
        return found && algos::pattern_of(*found) != algos::Pattern::neighborhood ? std::string()
                                                                                  : "no such collective: " + name;
      })
      ->capture_default_str();
  app.add_option("--bytes", options.bytes, "of a block, or of the vector")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_flag("--helpers", options.helpers, "a helper for each domain carries out the steps");
  app.add_option("--late", microseconds,
                 "microseconds by which ranks come late, in the mean; choices are made without it")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--most-work", options.most_work, "steps and slices of all ranks above which nothing is simulated")
      ->capture_default_str();
  app.add_option("--json", options.json, "file for all points");
  CLI11_PARSE(app, argc, argv);
  options.late = microseconds * 1e-6;
  try {
    bench::evaluate(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "default-choice: {}\n", error.what());
    return 1;
  }
  return 0;
}
