// SPDX-License-Identifier: BSD-3-Clause
// taylor_green: the Taylor-Green vortex on a slab-decomposed grid, with MPI's collectives or stoker's for the
// transposes.
#include "bound.hpp"
#include "options.hpp"
#include "report.hpp"
#include "run.hpp"

#include "examples/transposes/program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>

using namespace taylor_green;

namespace {

void check_physics(Contender& c, const Options& o, Checks& checks, MPI_Comm comm) {
  const auto& curve = c.curve;
  const std::string name = name_of(c.variant);
  double divergence = 0;
  for (const Diagnostics& d : curve) {
    divergence = d.divergence <= divergence ? divergence : d.divergence;
  }
  checks.expect(name + ", divergence", divergence, 1e-14);
  if (o.setup.two_dimensional) {
    // The nonlinear term is a gradient, and viscosity is integrated exactly: round-off is all that is left.
    const double time = curve.back().time;
    const double exact = curve.front().energy * std::exp(-4 * o.setup.nu * time);
    checks.expect(name + ", energy against the exact solution", std::abs(curve.back().energy / exact - 1), 1e-12);
    checks.expect(name + ", velocity against the exact solution",
                  relative_difference(c.solver->velocity(), std::exp(-2 * o.setup.nu * time), c.initial, comm), 1e-12);
  } else {
    checks.expect(name + ", dE/dt = -2 nu enstrophy", energy_imbalance(curve, o.setup.nu), 1e-4);
  }
  if (o.setup.statistics) {
    const auto functions = c.solver->structure_functions(comm);
    const double measured = functions[static_cast<std::size_t>(o.setup.n / 4)].longitudinal[0];
    checks.expect(name + ", structure function against the spectrum", std::abs(measured / c.structure - 1), 1e-12);
  }
}

void write_files(Contender& c, const Options& o, bool writer, MPI_Comm comm) {
  const int n = o.setup.n;
  const int z = static_cast<int>(std::lround(o.slice / (2 * std::numbers::pi) * n)) % n;
  std::vector<double> slice = c.solver->vorticity_slice(z < 0 ? z + n : z);
  MPI_Allreduce(MPI_IN_PLACE, slice.data(), n * n, MPI_DOUBLE, MPI_SUM, comm);
  const auto functions = c.solver->structure_functions(comm);
  if (writer) {
    const std::filesystem::path folder = o.output;
    std::filesystem::create_directories(folder);
    write_energy(folder / "energy.csv", c.curve, o.setup.nu);
    write_slice(folder / "vorticity.txt", slice, n);
    if (o.setup.statistics) {
      write_structure(folder / "structure.csv", functions, n);
    }
  }
}

int simulate(const Options& o, int ranks, bool print, MPI_Comm comm) {
  const int nodes = nodes_of(comm);
  if (print) {
    fmt::print("Taylor-Green vortex, {}, {}^3 points, nu = {}, dt = {:.4g}, {} steps; {} ranks on {} nodes\n",
               o.setup.two_dimensional ? "2-D" : "3-D", o.setup.n, o.setup.nu, o.setup.dt, o.setup.steps, ranks, nodes);
  }
  std::vector<Bound> bounds;
  if (o.rate > 0) {
    for (const int chunks : o.chunks > 0 ? std::vector{o.chunks} : candidate_chunks(o.setup, comm)) {
      bounds.push_back(bound_of(o.setup, chunks, nodes, o.rate * 1e9 / 8, comm));
    }
  }
  std::vector<Contender> contenders;
  for (const Variant v : o.variants) {
    contenders.push_back(make_contender(v, o.setup, o.chunks, o.engine, comm));
  }
  for (int i = 1; i <= o.repeat; ++i) {
    for (Contender& c : contenders) {
      run(c, o.setup, fmt::format("{}, run {} of {}", name_of(c.variant), i, o.repeat), comm);
    }
  }

  std::vector<Timing> timings;
  Checks checks(print);
  for (Contender& c : contenders) {
    timings.push_back(summarise(c, comm));
    check_physics(c, o, checks, comm);
    if (&c != &contenders.front()) {
      checks.expect(fmt::format("{}, velocity against {}", name_of(c.variant), name_of(contenders.front().variant)),
                    relative_difference(c.solver->velocity(), 1, contenders.front().solver->velocity(), comm), 1e-12);
    }
  }
  if (print) {
    print_bounds(bounds);
    print_table(timings, bounds);
    if (!o.json.empty()) {
      append_json(o.json, timings, bounds, o.setup, ranks, nodes);
    }
  }
  if (!o.output.empty()) {
    write_files(contenders.back(), o, print, comm);
  }
  return o.check && !checks.passed() ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level); // stoker's progress thread communicates
  int ranks = 1;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int status = 0;
  try {
    Options options;
    const auto ended = parse(argc, argv, ranks, rank == 0, options);
    status = ended ? *ended : simulate(options, ranks, rank == 0, MPI_COMM_WORLD);
  } catch (const std::exception& e) {
    fmt::print(stderr, "taylor_green: rank {}: {}\n", rank, e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
