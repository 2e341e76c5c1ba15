// SPDX-License-Identifier: BSD-3-Clause
// `stoker predict`: algorithms by the cost model, over sizes. Needs no MPI and no machine, and compiles the programs of
// one node's ranks only: the nodes are alike.
#include "algos/select/cost_model.hpp"
#include "algos/select/selection.hpp"
#include "api/cli/commands.hpp"
#include "engine/settings/cost_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace stoker::cli {

int predict(const PredictOptions& options) {
  const topology::Layout layout =
      topology::Layout::uniform(options.ranks, options.ranks_per_node, options.domains_per_node);
  if (layout.ranks() % options.ranks_per_node != 0 && layout.nodes() > 1) {
    throw std::invalid_argument(
        fmt::format("--ranks {} --ppn {}: expected nodes of equal size", options.ranks, options.ranks_per_node));
  }
  const algos::CostModel model = options.model.empty() ? algos::typical_cluster : engine::read_cost_file(options.model);
  std::vector<algos::Choice> choices = candidates(algos::Collective::alltoall, layout);
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
    fmt::print("{} ranks on {} nodes; microseconds by {}, at least\n\n{:<{}}", layout.ranks(), layout.nodes(),
               options.model.empty() ? "the figures of a typical cluster" : options.model, "bytes", width);
    for (const std::uint64_t bytes : options.bytes) {
      fmt::print(" {:>11}", bytes);
    }
    fmt::print("\n");
  }
  std::vector<std::vector<double>> table(options.bytes.size()); // by size, then by choice
  for (std::size_t b = 0; b < options.bytes.size(); ++b) {
    for (const algos::Choice& choice : choices) {
      table[b].push_back(expected_seconds(choice, layout, options.bytes[b], model, driver));
    }
  }
  for (std::size_t c = 0; c < choices.size(); ++c) {
    nlohmann::ordered_json row{{"algorithm", to_text(choices[c])}};
    if (!options.json) {
      fmt::print("{:<{}}", to_text(choices[c]), width);
    }
    for (std::size_t b = 0; b < options.bytes.size(); ++b) {
      const bool taken = algos::preferred(table[b]) == c;
      row["predictions"].push_back({{"bytes", options.bytes[b]}, {"seconds", table[b][c]}, {"preferred", taken}});
      if (!options.json) {
        fmt::print(" {:>10.1f}{}", table[b][c] * 1e6, taken ? '*' : ' ');
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
    fmt::print("\n* the first of these that comes within 10 % of the fastest{}\n",
               !options.algorithms.empty() ? ""
               : options.helpers           ? ": what requests on helpers take by default"
                                           : ": what inline requests take by default");
  }
  return 0;
}

} // namespace stoker::cli
