// SPDX-License-Identifier: BSD-3-Clause
// Options and what is wrong with them.
#include "options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

namespace taylor_green {

namespace {

// What the command line says in words.
struct Words {
  std::string kind = "3d";
  std::vector<std::string> exchanges = {"stoker"};
  std::string buffers = "mapped";
  std::string trace;
  std::vector<std::string> settings;
};

void add_options(CLI::App& app, Options& o, Words& words) {
  std::vector<std::string> choices = {"all"};
  for (const Variant v : all_variants) {
    choices.emplace_back(name_of(v));
  }
  app.add_option("--n", o.setup.n, "Points a side, a multiple of the number of ranks")
      ->check(CLI::Range(4, 4096))
      ->capture_default_str();
  app.add_option("--steps", o.setup.steps, "Time steps")->check(CLI::PositiveNumber)->capture_default_str();
  auto* nu = app.add_option("--nu", o.setup.nu, "Viscosity")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--re", o.reynolds, "Reynolds number, 1 / viscosity")->check(CLI::PositiveNumber)->excludes(nu);
  app.add_option("--dt", o.setup.dt, "Time step; default 2 / n")->check(CLI::PositiveNumber);
  app.add_option("--case", words.kind, "2d has an exact solution")
      ->check(CLI::IsMember({"2d", "3d"}))
      ->capture_default_str();
  app.add_option("--exchange", words.exchanges, "Who transposes; several separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(choices))
      ->capture_default_str();
  app.add_option("--chunks", o.chunks,
                 "All-to-alls a transpose is cut into; 0: for each exchange its best of 1, 2, 4, 8")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--repeat", o.repeat, "Runs, the exchanges taking turns")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--statistics", o.setup.statistics, "Structure functions of the velocity at every step");
  app.add_flag("--check", o.check, "Fail when a check of the physics does");
  app.add_option("--output", o.output, "Folder for the energy curve and the vorticity");
  app.add_option("--slice", o.slice, "z of the slice of the vorticity")->capture_default_str();
  app.add_option("--json", o.json, "File to append a JSON line for each exchange to");
  app.add_option("--trace", words.trace, "File for stoker's trace of ranks and helpers");
  app.add_option("--buffers", words.buffers, "Memory that stoker transposes from and to")
      ->check(CLI::IsMember({"mapped", "own"}))
      ->capture_default_str();
  app.add_option("--setting", words.settings, "KEY=VALUE for the engine; may be repeated");
}

// What is wrong with the options together; "" if nothing.
std::string defect_of(const Options& o, int ranks) {
  const int n = o.setup.n;
  if (n % ranks != 0) {
    const int below = n / ranks * ranks;
    return fmt::format(
        "--n {} does not divide into {} equal slabs: n must be a multiple of the number of ranks, e.g. {}{}", n, ranks,
        below >= 4 ? fmt::format("{} or ", below) : "", below + ranks);
  }
  return o.chunks > n / ranks ? fmt::format("--chunks {}: a rank has only {} planes to cut", o.chunks, n / ranks) : "";
}

} // namespace

std::optional<int> parse(int argc, char** argv, int ranks, bool print, Options& o) {
  CLI::App app("Taylor-Green vortex: incompressible Navier-Stokes on [0, 2*pi]^3, pseudo-spectral.\n"
               "Times the steps with each way of exchange and checks the physics.",
               "taylor_green");
  Words words;
  add_options(app, o, words);
  const auto refuse = [&](const std::string& message) {
    if (print) {
      fmt::print(stderr, "taylor_green: {}\n", message);
    }
    return 2;
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return print ? app.exit(e) : 0;
  } catch (const CLI::ParseError& e) {
    return refuse(e.what());
  }
  o.setup.two_dimensional = words.kind == "2d";
  if (o.reynolds > 0) {
    o.setup.nu = 1 / o.reynolds;
  }
  if (app.count("--dt") == 0) {
    o.setup.dt = 2.0 / o.setup.n;
  }
  if (std::ranges::find(words.exchanges, "all") != words.exchanges.end()) {
    o.variants.assign(std::begin(all_variants), std::end(all_variants));
  } else {
    std::ranges::transform(words.exchanges, std::back_inserter(o.variants),
                           [&](const auto& name) { return *std::ranges::find(all_variants, name, name_of); });
  }
  if (const std::string defect = defect_of(o, ranks); !defect.empty()) {
    return refuse(defect);
  }
  for (const std::string& setting : words.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      return refuse(fmt::format("--setting {}: expected KEY=VALUE", setting));
    }
    o.engine.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  if (!words.trace.empty()) {
    o.engine.settings.emplace_back("trace", words.trace);
  }
  o.engine.mapped_buffers = words.buffers == "mapped";
  return std::nullopt;
}

} // namespace taylor_green
