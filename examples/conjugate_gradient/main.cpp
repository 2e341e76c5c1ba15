// SPDX-License-Identifier: BSD-3-Clause
// conjugate_gradient: solves a symmetric positive definite system, distributed by rows, with each way of halo exchange,
// and compares the iterates with those of a serial solve.
#include "program.hpp"
#include "solver.hpp"
#include "statistics.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>

using namespace conjugate_gradient;

namespace {

struct ExchangeOptions : Options {
  std::vector<Variant> variants;
};

// As parse() of program.hpp.
std::optional<int> parse_exchanges(int argc, char** argv, bool print, ExchangeOptions& o) {
  CLI::App app(
      "Conjugate gradients on a distributed sparse matrix. Times the iterations with each way of halo exchange\n"
      "and compares the iterates with those of a serial solve. The solution is a vector of ones.",
      "conjugate_gradient");
  std::vector<std::string> exchanges = {"stoker"};
  std::map<std::string, Variant> names;
  std::vector<std::string> choices = {"all"};
  for (const Variant v : all_variants) {
    names[name_of(v)] = v;
    choices.emplace_back(name_of(v));
  }
  add_options(app, o);
  app.add_option("--exchange", exchanges, "Who exchanges the halo; several separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(choices))
      ->capture_default_str();
  app.add_flag("--check", o.check, "Fail unless all converge, to the serial iterates");
  if (const auto ended = parse(app, argc, argv, print)) {
    return ended;
  }
  if (std::ranges::find(exchanges, "all") != exchanges.end()) {
    o.variants.assign(std::begin(all_variants), std::end(all_variants));
  } else {
    std::ranges::transform(exchanges, std::back_inserter(o.variants), [&](const auto& name) { return names[name]; });
  }
  return std::nullopt;
}

// All ranks' entries on rank 0.
std::vector<double> gather(const std::vector<double>& own, const Blocks& blocks, MPI_Comm comm) {
  std::vector<int> counts, displs;
  for (int r = 0; r < blocks.ranks; ++r) {
    displs.push_back(blocks.first_row(r));
    counts.push_back(blocks.first_row(r + 1) - blocks.first_row(r));
  }
  std::vector<double> all(static_cast<std::size_t>(blocks.rows));
  MPI_Gatherv(own.data(), static_cast<int>(own.size()), MPI_DOUBLE, all.data(), counts.data(), displs.data(),
              MPI_DOUBLE, 0, comm);
  return all;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    largest = difference <= largest ? largest : difference; // keeps a NaN
  }
  return largest;
}

struct Contender {
  Variant variant;
  std::unique_ptr<Halo> halo;
  std::vector<double> seconds = {}; // an iteration, of each solve, the slowest rank's
  Solution solution = {};
};

// On rank 0: prints what a contender's last solve came to; answers whether it is as the serial solve's.
bool report(const Contender& c, const std::vector<double>& x, const Solution& serial) {
  const Solution& s = c.solution;
  const double iterates = largest_difference(x, serial.x);
  const double history = largest_difference(s.residuals, serial.residuals);
  const bool same = s.residuals.size() == serial.residuals.size() && iterates == 0 && history == 0;
  const std::vector<double> ones(x.size(), 1.0);
  fmt::print("{} {}: {} iterations{}, residual {:.2e} (true {:.2e}), error {:.2e}; against the serial solve: {:+d} "
             "iterations, "
             "largest difference of x {:.2e}, of the residuals {:.2e}\n",
             same && s.converged ? "ok    " : "FAILED", name_of(c.variant), s.residuals.size(),
             s.converged ? "" : " (not converged)", s.residuals.back(), s.true_residual, largest_difference(x, ones),
             static_cast<int>(s.residuals.size()) - static_cast<int>(serial.residuals.size()), iterates, history);
  return same && s.converged;
}

void print_table(const std::vector<Contender>& contenders, const ExchangeOptions& o, int ranks) {
  double best_mpi = std::numeric_limits<double>::quiet_NaN();
  for (const Contender& c : contenders) {
    if (!is_stoker(c.variant) && !(best_mpi <= median(c.seconds))) {
      best_mpi = median(c.seconds);
    }
  }
  fmt::print("{:<16} {:>8} {:>16} {:>10} {:>10} {:>8} {:>11}\n", "exchange", "executor", "us an iteration", "fastest",
             "slowest", "hidden", "/ best MPI");
  std::ofstream json;
  if (!o.json.empty()) {
    json.open(o.json, std::ios::app);
    if (!json) {
      throw std::runtime_error("cannot write " + o.json);
    }
  }
  for (const Contender& c : contenders) {
    const double seconds = median(c.seconds);
    const double hidden = c.halo->hidden();
    const auto [fastest, slowest] = std::ranges::minmax(c.seconds);
    fmt::print("{:<16} {:>8} {:>16.2f} {:>10.2f} {:>10.2f} {:>8} {:>11}\n", name_of(c.variant), c.halo->executor(),
               1e6 * seconds, 1e6 * fastest, 1e6 * slowest,
               std::isnan(hidden) ? "-" : fmt::format("{:.0f} %", 100 * hidden),
               std::isnan(best_mpi) ? "-" : fmt::format("{:.2f}", seconds / best_mpi));
    if (json) {
      json << nlohmann::json{{"benchmark", "conjugate_gradient"}, {"exchange", name_of(c.variant)},
                             {"executor", c.halo->executor()},    {"ranks", ranks},
                             {"matrix", o.problem.matrix},        {"iterations", c.solution.residuals.size()},
                             {"median_us", 1e6 * seconds},        {"min_us", 1e6 * fastest},
                             {"max_us", 1e6 * slowest},           {"hidden", hidden},
                             {"ratio", seconds / best_mpi}}
                  .dump()
           << '\n';
    }
  }
  fmt::print("hidden: share of the exchange that passed outside stoker's calls, by its own count.\n");
}

int run(const ExchangeOptions& o, int rank, int ranks, MPI_Comm comm) {
  const Matrix whole = load(o.problem, comm);
  const DistributedMatrix a(whole, comm);
  std::vector<Contender> contenders;
  for (const Variant v : o.variants) {
    contenders.push_back(
        {.variant = v, .halo = make_halo(v, a.halo_counts(), a.own_rows(), make_engine(v, o.settings, comm), comm)});
  }
  int halo = std::accumulate(a.halo_counts().recv.begin(), a.halo_counts().recv.end(), 0);
  MPI_Allreduce(MPI_IN_PLACE, &halo, 1, MPI_INT, MPI_MAX, comm);
  if (rank == 0) {
    fmt::print("Conjugate gradients{}, {}, {} rows, {} entries; {} ranks, at most {} halo entries a rank\n",
               o.criterion.jacobi ? " with Jacobi preconditioner" : "", describe(o.problem), whole.rows,
               whole.value.size(), ranks, halo);
  }
  double reported = MPI_Wtime();
  for (int i = 1; i <= o.repeat; ++i) {
    for (Contender& c : contenders) {
      MPI_Barrier(comm);
      c.solution = solve(a, *c.halo, o.criterion, comm);
      double seconds = c.solution.seconds / static_cast<double>(c.solution.residuals.size());
      MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
      c.seconds.push_back(seconds);
      if (rank == 0 && MPI_Wtime() - reported >= 1) {
        reported = MPI_Wtime();
        fmt::print(stderr, "{}, solve {} of {}: {} iterations, {:.1f} us each\n", name_of(c.variant), i, o.repeat,
                   c.solution.residuals.size(), 1e6 * seconds);
      }
    }
  }

  int good = 1;
  std::optional<Solution> serial;
  if (rank == 0) {
    serial = solve(whole, a.blocks(), o.criterion);
  }
  for (const Contender& c : contenders) {
    const std::vector<double> x = gather(c.solution.x, a.blocks(), comm);
    if (serial && !report(c, x, *serial)) {
      good = 0;
    }
  }
  if (rank == 0) {
    print_table(contenders, o, ranks);
  }
  MPI_Bcast(&good, 1, MPI_INT, 0, comm);
  return o.check && good == 0 ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
  return run_program("conjugate_gradient", argc, argv, [&](int rank, int ranks) {
    ExchangeOptions options;
    const auto ended = parse_exchanges(argc, argv, rank == 0, options);
    return ended ? *ended : run(options, rank, ranks, MPI_COMM_WORLD);
  });
}
