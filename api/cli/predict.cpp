// SPDX-License-Identifier: BSD-3-Clause
// `stoker predict`: the times by which the default choice of an alltoall is made, over sizes. Needs no MPI and no
// machine.
#include "algos/select/selection.hpp"
#include "algos/simulate/expectation.hpp"
#include "api/cli/commands.hpp"
#include "engine/settings/machine_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>

namespace stoker::cli {
namespace {

// The index of the default choice. Each size has candidates of its own.
std::size_t default_of(const std::vector<algos::Choice>& choices, std::vector<double> seconds,
                       const algos::TypicalCall& call) {
  const std::vector<algos::Choice> here = candidates(call.collective, call.layout, call.bytes);
  for (std::size_t c = 0; c < choices.size(); ++c) {
    if (std::ranges::find(here, choices[c]) == here.end()) {
      seconds[c] = std::numeric_limits<double>::infinity();
    }
  }
  return algos::preferred(seconds);
}

} // namespace

int predict(const PredictOptions& options) {
  const topology::Layout layout =
      topology::Layout::uniform(options.ranks, options.ranks_per_node, options.domains_per_node);
  if (layout.ranks() % options.ranks_per_node != 0 && layout.nodes() > 1) {
    throw std::invalid_argument(
        fmt::format("--ranks {} --ppn {}: expected nodes of equal size", options.ranks, options.ranks_per_node));
  }
  const algos::Machine machine = options.model.empty() ? algos::typical_cluster() : engine::read_machine(options.model);
  std::vector<algos::Choice> choices;
  for (const std::uint64_t bytes : options.bytes) {
    for (const algos::Choice& choice : candidates(algos::Collective::alltoall, layout, bytes)) {
      if (std::ranges::find(choices, choice) == choices.end()) {
        choices.push_back(choice);
      }
    }
  }
  if (!options.algorithms.empty()) {
    choices.clear();
    std::ranges::transform(options.algorithms, std::back_inserter(choices), [&](const std::string& text) {
      return resolve(algos::parse_choice(algos::Collective::alltoall, text), layout);
    });
  }
  const algos::Driver driver = options.helpers ? algos::Driver::helper : algos::Driver::rank;
  std::size_t width = 0;
  for (const algos::Choice& choice : choices) {
    width = std::max(width, to_text(choice).size());
  }
  nlohmann::ordered_json json{{"ranks", layout.ranks()}, {"nodes", layout.nodes()}};
  if (!options.json) {
    fmt::print("{} ranks on {} nodes; microseconds by {}\n\n{:<{}}", layout.ranks(), layout.nodes(),
               options.model.empty() ? "the figures of a typical cluster" : options.model, "bytes", width);
    for (const std::uint64_t bytes : options.bytes) {
      fmt::print(" {:>11}", bytes);
    }
    fmt::print("\n");
  }
  std::vector<std::vector<double>> table(options.bytes.size()); // by size, then by choice
  std::vector<std::size_t> taken(options.bytes.size());         // by size
  for (std::size_t b = 0; b < options.bytes.size(); ++b) {
    const algos::TypicalCall call{.layout = layout, .bytes = options.bytes[b]};
    for (const algos::Choice& choice : choices) {
      table[b].push_back(expectation(choice, call, machine, driver).seconds);
    }
    taken[b] = options.algorithms.empty() ? default_of(choices, table[b], call) : algos::preferred(table[b]);
  }
  for (std::size_t c = 0; c < choices.size(); ++c) {
    nlohmann::ordered_json row{{"algorithm", to_text(choices[c])}};
    if (!options.json) {
      fmt::print("{:<{}}", to_text(choices[c]), width);
    }
    for (std::size_t b = 0; b < options.bytes.size(); ++b) {
      const bool marked = taken[b] == c;
      row["predictions"].push_back({{"bytes", options.bytes[b]}, {"seconds", table[b][c]}, {"preferred", marked}});
      if (!options.json) {
        fmt::print(" {:>10.1f}{}", table[b][c] * 1e6, marked ? '*' : ' ');
      }
    }
    json["algorithms"].push_back(std::move(row));
    if (!options.json) {
      fmt::print("\n");
    }
  }
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("\n* the first of these that comes within 1 % of the fastest{}\n",
               !options.algorithms.empty() ? ""
               : options.helpers           ? ": what requests on helpers take by default"
                                           : ": what inline requests take by default");
  }
  return 0;
}

} // namespace stoker::cli
