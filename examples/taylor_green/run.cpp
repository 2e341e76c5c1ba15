// SPDX-License-Identifier: BSD-3-Clause
// Timed runs and the choice of the number of chunks.
#include "run.hpp"

#include "examples/transposes/program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace taylor_green {
namespace {

struct Place {
  int ranks = 1;
  int rank = 0;
};

Place place_in(MPI_Comm comm) {
  Place place;
  MPI_Comm_size(comm, &place.ranks);
  MPI_Comm_rank(comm, &place.rank);
  return place;
}

void start(Contender& contender, const Case& setup) {
  contender.solver->set_velocity([&](double x, double y, double z) { return initial_velocity(setup, x, y, z); });
}

Contender assemble(Variant variant, const Case& setup, int chunks, const EngineOptions& options, MPI_Comm comm) {
  const Place place = place_in(comm);
  const Grid grid{.n = setup.n, .ranks = place.ranks, .rank = place.rank, .chunks = chunks};
  Contender contender{.variant = variant, .exchange = make_exchange(variant, comm, options)};
  contender.solver = std::make_unique<Solver>(grid, setup.nu, setup.dt, setup.statistics, *contender.exchange);
  return contender;
}

// The slowest rank's time for a step.
double timed_step(Solver& solver, MPI_Comm comm) {
  MPI_Barrier(comm);
  double seconds = -MPI_Wtime();
  solver.step();
  seconds += MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
  return seconds;
}

int best_chunks(Variant variant, const Case& setup, const EngineOptions& options, MPI_Comm comm) {
  constexpr int trial_steps = 2;
  int best = 1;
  double best_seconds = 0;
  for (const int chunks : candidate_chunks(setup, comm)) {
    Contender trial = assemble(variant, setup, chunks, options, comm);
    start(trial, setup);
    trial.solver->step();
    for (int i = 0; i < trial_steps; ++i) {
      trial.step_seconds.push_back(timed_step(*trial.solver, comm));
    }
    const double seconds = median(trial.step_seconds);
    if (chunks == 1 || seconds < best_seconds) {
      best = chunks;
      best_seconds = seconds;
    }
  }
  return best;
}

} // namespace

std::vector<int> candidate_chunks(const Case& setup, MPI_Comm comm) {
  const int rows = Grid{.n = setup.n, .ranks = place_in(comm).ranks, .rank = 0, .chunks = 1}.rows();
  std::vector<int> candidates = {1, 2, 4, 8, 12};
  std::erase_if(candidates, [&](int chunks) { return chunks > rows; });
  return candidates;
}

Vector initial_velocity(const Case& setup, double x, double y, double z) {
  const double third = setup.two_dimensional ? 1 : std::cos(z);
  return {std::sin(x) * std::cos(y) * third, -std::cos(x) * std::sin(y) * third, 0};
}

Contender make_contender(Variant variant, const Case& setup, int chunks, const EngineOptions& options, MPI_Comm comm) {
  if (chunks == 0) {
    EngineOptions untraced = options;
    std::erase_if(untraced.settings, [](const auto& setting) { return setting.first == "trace"; });
    chunks = best_chunks(variant, setup, untraced, comm);
  }
  return assemble(variant, setup, chunks, options, comm);
}

void run(Contender& contender, const Case& setup, const std::string& label, MPI_Comm comm) {
  const auto [ranks, rank] = place_in(comm);
  Solver& solver = *contender.solver;
  start(contender, setup);
  contender.initial = solver.velocity();
  contender.curve = {diagnose(solver.grid(), solver.velocity(), 0, comm)};
  double reported = MPI_Wtime();
  for (int step = 1; step <= setup.steps; ++step) {
    if (setup.statistics && step == setup.steps) {
      contender.structure = second_order_structure(solver.grid(), solver.velocity(), setup.n / 4, comm);
    }
    const ExchangeTimes before = contender.exchange->times();
    contender.step_seconds.push_back(timed_step(solver, comm));
    const ExchangeTimes after = contender.exchange->times();
    std::array<double, 2> sums{after.exposed - before.exposed, after.helper - before.helper};
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_DOUBLE, MPI_SUM, comm);
    contender.exposed_seconds.push_back(sums[0] / ranks);
    contender.helper_seconds.push_back(sums[1] / ranks);
    contender.curve.push_back(diagnose(solver.grid(), solver.velocity(), step * setup.dt, comm));
    if (rank == 0 && MPI_Wtime() - reported >= 1) {
      reported = MPI_Wtime();
      const Diagnostics& now = contender.curve.back();
      fmt::print(stderr, "{}: step {} of {}, t = {:.3f}, energy {:.6f}, {:.1f} ms a step\n", label, step, setup.steps,
                 now.time, now.energy, 1e3 * contender.step_seconds.back());
    }
  }
}

} // namespace taylor_green
