// SPDX-License-Identifier: BSD-3-Clause
// plane_waves: eigenstates of a Schroedinger operator on a slab-decomposed grid, with MPI's collectives or stoker's for
// transposes and sums.
#include "options.hpp"
#include "report.hpp"

#include "examples/transposes/program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>

using namespace plane_waves;

namespace {

// The slowest rank's time for a solution, and what all ranks spent in the exchange.
void solve(Contender& c, int ranks, MPI_Comm comm) {
  double exposed = -c.exchange->times().exposed;
  MPI_Barrier(comm);
  c.began.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
  double seconds = -MPI_Wtime();
  c.solution = c.solver->solve();
  seconds += MPI_Wtime();
  exposed += c.exchange->times().exposed;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
  MPI_Allreduce(MPI_IN_PLACE, &exposed, 1, MPI_DOUBLE, MPI_SUM, comm);
  c.seconds.push_back(seconds);
  c.exposed.push_back(exposed / ranks);
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b, int count) {
  double largest = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    largest = difference <= largest ? largest : difference; // not std::max, which would drop a NaN
  }
  return largest;
}

int run(const Options& o, int ranks, int rank, MPI_Comm comm) {
  const bool print = rank == 0;
  const int nodes = nodes_of(comm);
  const int states = o.subspace.states;
  const Grid grid{.n = o.problem.n, .cutoff = o.problem.cutoff, .ranks = ranks, .rank = rank};
  const std::vector<double> expected = reference_levels(o.problem, states);
  if (print) {
    fmt::print(
        "Plane waves, {} potential, {}^3 points, {}^3 waves, {} states of {} bands, filter of degree {}; {} ranks "
        "on {} nodes\n",
        o.problem.potential == Potential::harmonic ? "harmonic" : "cosine", grid.n, grid.waves(), states,
        o.subspace.bands, o.subspace.degree, ranks, nodes);
  }
  std::vector<Contender> contenders;
  for (const Variant v : o.variants) {
    Contender c{.variant = v, .exchange = make_exchange(v, comm, o.engine)};
    c.solver = std::make_unique<Solver>(grid, o.problem, o.subspace, *c.exchange);
    contenders.push_back(std::move(c));
  }
  for (int i = 1; i <= o.repeat; ++i) {
    for (Contender& c : contenders) {
      solve(c, ranks, comm);
      if (print) {
        fmt::print(stderr, "{}, run {} of {}: {:.3f} s\n", name_of(c.variant), i, o.repeat, c.seconds.back());
      }
    }
  }

  std::vector<Timing> timings;
  bool correct = true;
  const Solution& first = contenders.front().solution;
  if (print) {
    print_states(first, expected);
  }
  for (const Contender& c : contenders) {
    const std::string name = name_of(c.variant);
    const auto& residuals = c.solution.residuals;
    timings.push_back(summarise(c, comm));
    Checks checks(print);
    checks.expect(name + ", residuals", *std::max_element(residuals.begin(), residuals.begin() + states),
                  o.subspace.tolerance);
    checks.expect(name + ", eigenvalues against the known ones",
                  largest_difference(c.solution.values, expected, states), 1e-8);
    checks.expect(name + ", orthogonality", c.solver->orthogonality_error(comm), 1e-10);
    if (&c != &contenders.front()) {
      checks.expect(fmt::format("{}, eigenvalues against {}", name, name_of(contenders.front().variant)),
                    largest_difference(c.solution.values, first.values, states), 1e-10);
    }
    timings.back().correct = checks.passed();
    correct = correct && checks.passed();
  }
  if (print) {
    print_table(timings);
    if (!o.json.empty()) {
      append_json(o.json, timings, o, ranks, nodes);
    }
  }
  return o.check && !correct ? 1 : 0;
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
    const auto ended = parse(argc, argv, rank == 0, options);
    status = ended ? *ended : run(options, ranks, rank, MPI_COMM_WORLD);
  } catch (const std::exception& e) {
    fmt::print(stderr, "plane_waves: rank {}: {}\n", rank, e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
