// SPDX-License-Identifier: BSD-3-Clause
// Options and what is wrong with them.
#include "options.hpp"

#include "examples/transposes/program.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace plane_waves {
namespace {

void add_options(CLI::App& app, Options& o, std::string& potential) {
  app.add_option("--potential", potential, "harmonic: (x^2 + y^2 + z^2) / 2; cosine: -depth times the cosines' sum")
      ->check(CLI::IsMember({"harmonic", "cosine"}))
      ->capture_default_str();
  app.add_option("--n", o.problem.n, "Points a side")->check(CLI::Range(4, 1024))->capture_default_str();
  app.add_option("--cutoff", o.problem.cutoff, "Largest wave number along an axis; default (n - 1) / 3")
      ->check(CLI::PositiveNumber);
  app.add_option("--side", o.problem.side, "Side of the periodic box")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--depth", o.problem.depth, "Of the cosine")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--states", o.subspace.states, "Lowest states wanted")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--bands", o.subspace.bands, "Bands of the block; default: half more than states, and 4 at least")
      ->check(CLI::PositiveNumber);
  app.add_option("--degree", o.subspace.degree, "Of the filter: times that H is applied in an iteration")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--block", o.subspace.block, "Bands whose inner products are taken and summed at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--tolerance", o.subspace.tolerance, "Of the states' residuals")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--iterations", o.subspace.iterations, "At most")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--repeat", o.repeat, "Solutions, the exchanges taking turns")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--check", o.check, "Fail when a check of the states does");
  app.add_option("--json", o.json, "File to append a JSON line for each exchange to");
}

// What is wrong with the options together; "" if nothing.
std::string defect_of(const Problem& p, const Subspace& s) {
  if (p.n < 2 * p.cutoff + 2) {
    return fmt::format("--cutoff {}: {} points a side hold wave numbers up to {}", p.cutoff, p.n, p.n / 2 - 1);
  }
  const int waves = 2 * p.cutoff + 1;
  if (s.bands <= s.states) {
    return fmt::format("--bands {}: expected more than the {} states", s.bands, s.states);
  }
  if (s.bands >= waves * waves * waves) {
    return fmt::format("--bands {}: expected fewer than the {} plane waves of --cutoff {}", s.bands,
                       waves * waves * waves, p.cutoff);
  }
  return "";
}

} // namespace

std::optional<int> parse(int argc, char** argv, bool print, Options& o) {
  CLI::App app("Lowest eigenstates of -1/2 laplacian + V in a periodic box, in plane waves, by Chebyshev-filtered\n"
               "subspace iteration. Times the solution with each way of exchange and checks the states.",
               "plane_waves");
  std::string potential = "harmonic";
  ExchangeWords words;
  add_options(app, o, potential);
  add_options(app, words);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return print ? app.exit(e) : 0;
  } catch (const CLI::ParseError& e) {
    if (print) {
      fmt::print(stderr, "plane_waves: {}\n", e.what());
    }
    return 2;
  }
  o.problem.potential = potential == "cosine" ? Potential::cosine : Potential::harmonic;
  if (app.count("--cutoff") == 0) {
    o.problem.cutoff = (o.problem.n - 1) / 3;
  }
  if (app.count("--bands") == 0) {
    o.subspace.bands = o.subspace.states + std::max(4, o.subspace.states / 2);
  }
  o.subspace.block = std::min(o.subspace.block, o.subspace.bands);
  for (const std::string& defect : {defect_of(o.problem, o.subspace), read(words, o.variants, o.engine)}) {
    if (!defect.empty()) {
      if (print) {
        fmt::print(stderr, "plane_waves: {}\n", defect);
      }
      return 2;
    }
  }
  return std::nullopt;
}

} // namespace plane_waves
