// SPDX-License-Identifier: BSD-3-Clause
// Options and what is wrong with them.
#include "options.hpp"

#include "examples/transposes/program.hpp"

#include <fmt/core.h>

#include <string>
#include <vector>

namespace taylor_green {

namespace {

void add_options(CLI::App& app, Options& o, std::string& kind) {
  app.add_option("--n", o.setup.n, "Points a side, a multiple of the number of ranks")
      ->check(CLI::Range(4, 4096))
      ->capture_default_str();
  app.add_option("--steps", o.setup.steps, "Time steps")->check(CLI::PositiveNumber)->capture_default_str();
  auto* nu = app.add_option("--nu", o.setup.nu, "Viscosity")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--re", o.reynolds, "Reynolds number, 1 / viscosity")->check(CLI::PositiveNumber)->excludes(nu);
  app.add_option("--dt", o.setup.dt, "Time step; default 2 / n")->check(CLI::PositiveNumber);
  app.add_option("--case", kind, "2d has an exact solution")->check(CLI::IsMember({"2d", "3d"}))->capture_default_str();
  app.add_option("--chunks", o.chunks,
                 "Chunks that rows and planes are cut into; 0: for each exchange its best of 1, 2, 4, 8, 12")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--rate", o.rate, "Gbit/s of a host's link, to print what a step takes at best")
      ->check(CLI::PositiveNumber);
  app.add_option("--repeat", o.repeat, "Runs, the exchanges taking turns")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--statistics", o.setup.statistics, "Structure functions of the velocity at every step");
  app.add_flag("--check", o.check, "Fail when a check of the physics does");
  app.add_option("--output", o.output, "Folder for the energy curve and the vorticity");
  app.add_option("--slice", o.slice, "z of the slice of the vorticity")->capture_default_str();
  app.add_option("--json", o.json, "File to append a JSON line for each exchange to");
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
  const int rows = Grid{.n = n, .ranks = ranks, .rank = 0, .chunks = 1}.rows();
  return o.chunks > rows ? fmt::format("--chunks {}: a rank has only {} rows to cut", o.chunks, rows) : "";
}

} // namespace

std::optional<int> parse(int argc, char** argv, int ranks, bool print, Options& o) {
  CLI::App app("Taylor-Green vortex: incompressible Navier-Stokes on [0, 2*pi]^3, pseudo-spectral.\n"
               "Times the steps with each way of exchange and checks the physics.",
               "taylor_green");
  std::string kind = "3d";
  ExchangeWords words;
  add_options(app, o, kind);
  add_options(app, words);
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
  o.setup.two_dimensional = kind == "2d";
  if (o.reynolds > 0) {
    o.setup.nu = 1 / o.reynolds;
  }
  if (app.count("--dt") == 0) {
    o.setup.dt = 2.0 / o.setup.n;
  }
  for (const std::string& defect : {defect_of(o, ranks), read(words, o.variants, o.engine)}) {
    if (!defect.empty()) {
      return refuse(defect);
    }
  }
  return std::nullopt;
}

} // namespace taylor_green
