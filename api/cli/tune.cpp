// SPDX-License-Identifier: BSD-3-Clause
// `stoker tune`: searches for the fastest algorithm of each collective, layout and size by simulation, and writes the
// tuning file. It does not try everything. The search (algos/select/search.hpp) begins with every algorithm as it is by
// default and with one parameter at a time set to powers of two, to divisors, or to lists of factors; then it goes from
// the best to their neighbors, as long as that helps and --limit leaves room. With --measure the ranks of the job then
// time the best few, and the fastest of these is written.
#include "algos/select/search.hpp"
#include "algos/select/tuning_table.hpp"
#include "algos/simulate/simulate.hpp"
#include "api/cli/call.hpp"
#include "api/cli/commands.hpp"
#include "api/cli/machines.hpp"
#include "api/cli/mpi_session.hpp"
#include "api/cli/output_file.hpp"
#include "api/cli/tune_measurement.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/mpi_identity.hpp"
#include "engine/settings/tuning_file.hpp"
#include "engine/shared/memory_limits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace stoker::cli {
namespace {

using algos::Choice;
using algos::Collective;

// What is tuned: these collectives and sizes on each of the layouts.
struct Range {
  std::vector<Collective> collectives;
  std::vector<std::uint64_t> bytes; // ascending
  std::vector<topology::Layout> layouts;
  algos::Machine machine;
};

std::vector<Collective> collectives_of(const std::vector<std::string>& names) {
  std::vector<Collective> result;
  for (const std::string& name : names) {
    const auto collective = algos::find_collective(name);
    if (!collective || !algos::is_tunable(*collective)) {
      std::vector<std::string_view> known;
      for (std::size_t c = 0; c < algos::collectives_with_algorithms; ++c) {
        if (algos::is_tunable(static_cast<Collective>(c))) {
          known.push_back(algos::name_of(static_cast<Collective>(c)));
        }
      }
      throw std::invalid_argument(fmt::format("--collective {}: expected {}", name, fmt::join(known, ", ")));
    }
    if (std::ranges::find(result, *collective) == result.end()) {
      result.push_back(*collective);
    }
  }
  return result;
}

// Without layouts.
Range range_of(const TuneOptions& options) {
  Range range{collectives_of(options.collectives), options.bytes, {}, find_machine(options.machine)};
  std::ranges::sort(range.bytes);
  range.bytes.erase(std::unique(range.bytes.begin(), range.bytes.end()), range.bytes.end());
  return range;
}

void add_layouts(Range& range, const TuneOptions& options) {
  range.machine = part_of(range.machine, options.ranks_per_node, 0);
  const int ranks_per_node = range.machine.ranks_per_node;
  for (const int nodes : options.nodes) {
    constexpr int most = 1 << 20;
    if (nodes > most / ranks_per_node) {
      throw std::invalid_argument(fmt::format("--nodes {}: with {} ranks each, expected {} at most", nodes,
                                              ranks_per_node, most / ranks_per_node));
    }
    range.layouts.push_back(
        topology::Layout::uniform(nodes * ranks_per_node, ranks_per_node, range.machine.domains_per_node));
  }
}

std::vector<std::uint64_t> sizes_for(Collective collective, const Range& range) {
  return collective == Collective::barrier ? std::vector<std::uint64_t>{0} : range.bytes;
}

std::size_t points_of(const Range& range) {
  std::size_t points = 0;
  for (const Collective collective : range.collectives) {
    points += range.layouts.size() * sizes_for(collective, range).size();
  }
  return points;
}

std::string describe(const algos::SearchProblem& problem) {
  return fmt::format("{} on {} node{} of {} ranks, {} B", algos::name_of(problem.collective), problem.layout.nodes(),
                     problem.layout.nodes() == 1 ? "" : "s", problem.layout.node_ranks(0).size(), problem.bytes);
}

algos::Scenario scenario_of(const Range& range, const topology::Layout& layout, bool helpers) {
  return {.progress = helpers ? algos::Progress::helper : algos::Progress::rank,
          .helpers_per_node = std::max(1, layout.domains() / layout.nodes()),
          .long_messages =
              range.machine.remote_reads ? algos::LongMessages::rendezvous : algos::LongMessages::announced};
}

// Infinity where the memory is not enough to simulate it.
double simulated_seconds(const algos::SearchProblem& problem, const Choice& choice, const algos::Machine& machine,
                         const algos::Scenario& scenario) {
  const Call call{.collective = problem.collective, .layout = problem.layout};
  if (memory_to_simulate(choice, call, problem.bytes) > engine::available_memory()) {
    return std::numeric_limits<double>::infinity();
  }
  return algos::simulate(call.layout, machine, programs_of(choice, call, problem.bytes), scenario).seconds;
}

std::vector<algos::Found> search_by_simulation(const algos::SearchProblem& problem, const Range& range,
                                               const TuneOptions& options) {
  const algos::Scenario scenario = scenario_of(range, problem.layout, options.helpers);
  auto found = algos::search(problem, static_cast<std::size_t>(options.limit), [&](const Choice& choice) {
    return simulated_seconds(problem, choice, range.machine, scenario);
  });
  std::erase_if(found, [](const algos::Found& f) { return f.seconds == std::numeric_limits<double>::infinity(); });
  if (found.empty()) {
    throw std::runtime_error(fmt::format("{}: {} MiB of memory are not enough to simulate it; expected fewer ranks",
                                         describe(problem), engine::available_memory() >> 20U));
  }
  return found;
}

// Rank 0 of a job searches, and tells the others what it has found. Collective.
std::vector<Choice> agreed_best(const MpiSession& session, const algos::SearchProblem& problem, const Range& range,
                                const TuneOptions& options) {
  std::string texts;
  if (session.rank() == 0) {
    const auto found = search_by_simulation(problem, range, options);
    for (std::size_t i = 0; i < std::min(found.size(), static_cast<std::size_t>(options.best)); ++i) {
      texts += to_text(found[i].choice) + "\n";
    }
  }
  std::istringstream lines(engine::text_of_rank_0(MPI_COMM_WORLD, texts));
  std::vector<Choice> best;
  for (std::string line; std::getline(lines, line);) {
    best.push_back(resolve(algos::parse_choice(problem.collective, line), problem.layout));
  }
  return best;
}

class ProgressLine {
public:
  ProgressLine(std::size_t points, bool shown) : points_(points), shown_(shown) {}
  void show(const algos::SearchProblem& problem, const std::string& result) {
    ++done_;
    if (shown_) {
      fmt::print(stderr, "[{}/{}] {}: {}\n", done_, points_, describe(problem), result);
    }
  }

private:
  std::size_t points_;
  bool shown_;
  std::size_t done_ = 0;
};

// `fastest` finds the best choice for a problem, and says in words how fast it is.
algos::TuningTable tuned(const Range& range, ProgressLine& progress,
                         const std::function<std::pair<Choice, std::string>(const algos::SearchProblem&)>& fastest) {
  algos::TuningTable table;
  for (const Collective collective : range.collectives) {
    for (const topology::Layout& layout : range.layouts) {
      std::vector<algos::TuningTable::Fastest> series;
      for (const std::uint64_t bytes : sizes_for(collective, range)) {
        const algos::SearchProblem problem{collective, layout, bytes};
        const auto [choice, words] = fastest(problem);
        series.push_back({bytes, choice});
        progress.show(problem, words);
      }
      const auto nodes = static_cast<std::uint64_t>(layout.nodes());
      const std::uint64_t ranks_per_node = layout.node_ranks(0).size();
      table.add_series({nodes, nodes}, {ranks_per_node, ranks_per_node}, series);
    }
  }
  return table;
}

int print_plan(const Range& range, int limit) {
  for (const Collective collective : range.collectives) {
    for (const topology::Layout& layout : range.layouts) {
      for (const std::uint64_t bytes : sizes_for(collective, range)) {
        const algos::SearchProblem problem{collective, layout, bytes};
        const std::vector<Choice> points = starting_points(problem);
        fmt::print("{}: begins with {} choices, tries {} at most\n", describe(problem), points.size(), limit);
        for (const Choice& choice : points) {
          fmt::print("  {}\n", to_text(choice));
        }
      }
    }
  }
  return 0;
}

int by_simulation(Range range, const TuneOptions& options) {
  add_layouts(range, options);
  if (options.dry_run) {
    return print_plan(range, options.limit);
  }
  check_writable("--output", options.output);
  ProgressLine progress(points_of(range), true);
  const auto table = tuned(range, progress, [&](const algos::SearchProblem& problem) {
    const auto found = search_by_simulation(problem, range, options);
    return std::pair(found.front().choice,
                     fmt::format("{}, {:.1f} us simulated, the best of {}", to_text(found.front().choice),
                                 1e6 * found.front().seconds, found.size()));
  });
  write_output("--output", options.output,
               engine::tuning_text(table, fmt::format("{}, simulated", range.machine.name)));
  return 0;
}

int by_measurement(const MpiSession& session, Range range, const TuneOptions& options) {
  if (session.size() < 2) {
    throw std::runtime_error("--measure needs at least two ranks: run it under the MPI launcher, as the job will be");
  }
  const auto engine = std::make_shared<engine::Engine>(MPI_COMM_WORLD, std::span<const engine::SettingText>());
  const topology::Layout& layout = engine->layout();
  for (int node = 1; node < layout.nodes(); ++node) {
    if (layout.node_ranks(node).size() != layout.node_ranks(0).size()) { // all ranks see that: nobody has to be aborted
      if (session.rank() == 0) {
        fmt::print(stderr, "stoker: --measure: node {} has {} ranks and node 0 has {}; expected nodes of equal size\n",
                   node, layout.node_ranks(node).size(), layout.node_ranks(0).size());
      }
      engine->destroy();
      return 1;
    }
  }
  range.layouts = {layout};
  if (options.dry_run) {
    engine->destroy();
    return session.rank() == 0 ? print_plan(range, options.limit) : 0;
  }
  if (session.rank() == 0) {
    check_writable("--output", options.output);
  }
  ProgressLine progress(points_of(range), session.rank() == 0);
  const auto table = tuned(range, progress, [&](const algos::SearchProblem& problem) {
    const std::vector<Choice> best = agreed_best(session, problem, range, options);
    const std::vector<double> seconds = measured_seconds(engine, best, problem.bytes, options.repetitions);
    const auto first = std::ranges::min_element(seconds);
    if (*first == std::numeric_limits<double>::infinity()) {
      throw std::runtime_error(describe(problem) + ": no request can be made with any of the best by simulation");
    }
    const Choice& choice = best[static_cast<std::size_t>(first - seconds.begin())];
    return std::pair(choice, fmt::format("{}, {:.1f} us measured, the best of {} by simulation", to_text(choice),
                                         1e6 * *first, best.size()));
  });
  engine->destroy();
  if (session.rank() == 0) {
    write_output("--output", options.output,
                 engine::tuning_text(
                     table, fmt::format("{} ranks, measured with {}", layout.ranks(), engine::mpi_identity().text)));
  }
  return 0;
}

} // namespace

int tune(const TuneOptions& options) {
  Range range = range_of(options);
  if (!options.measure) {
    return by_simulation(std::move(range), options);
  }
  return with_mpi([&](const MpiSession& session) { return by_measurement(session, range, options); });
}

} // namespace stoker::cli
