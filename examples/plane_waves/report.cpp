// SPDX-License-Identifier: BSD-3-Clause
// Tables and files.
#include "report.hpp"

#include "examples/transposes/program.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace plane_waves {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

double seconds_of(const std::vector<Timing>& timings, Variant variant) {
  const auto found = std::ranges::find(timings, variant, &Timing::variant);
  return found == timings.end() ? unknown : found->seconds;
}

double best_mpi(const std::vector<Timing>& timings) {
  double best = unknown;
  for (const Timing& t : timings) {
    if (!is_stoker(t.variant) && !(best <= t.seconds)) {
      best = t.seconds;
    }
  }
  return best;
}

std::string ratio(double value) { return std::isnan(value) ? "-" : fmt::format("{:.2f}", value); }

} // namespace

Timing summarise(const Contender& contender, MPI_Comm comm) {
  const ExchangeTimes times = contender.exchange->times();
  std::array<double, 2> sums{times.hidden, times.exchange};
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_DOUBLE, MPI_SUM, comm);
  return {.variant = contender.variant,
          .executor = contender.exchange->executor(),
          .iterations = contender.solution.iterations,
          .seconds = median(contender.seconds),
          .deviation = median_absolute_deviation(contender.seconds),
          .exposed = median(contender.exposed),
          .hidden = is_stoker(contender.variant) ? sums[0] / sums[1] : unknown,
          .began = contender.began.front(),
          .first = contender.seconds.front()};
}

void print_states(const Solution& solution, const std::vector<double>& expected) {
  fmt::print("{:>5} {:>16} {:>16} {:>10}\n", "state", "eigenvalue", "expected", "residual");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    fmt::print("{:>5} {:>16.10f} {:>16.10f} {:>10.1e}\n", i, solution.values[i], expected[i], solution.residuals[i]);
  }
}

void print_table(const std::vector<Timing>& timings) {
  const double best = best_mpi(timings);
  const double nonblocking = seconds_of(timings, Variant::mpi_nonblocking);
  fmt::print("{:<21} {:>8} {:>10} {:>9} {:>7} {:>10} {:>8} {:>8} {:>11} {:>13}\n", "exchange", "executor", "iterations",
             "seconds", "MAD", "exposed s", "of all", "hidden", "/ best MPI", "/ nonblocking");
  for (const Timing& t : timings) {
    fmt::print("{:<21} {:>8} {:>10} {:>9.3f} {:>7.3f} {:>10.3f} {:>6.0f} % {:>8} {:>11} {:>13}\n", name_of(t.variant),
               t.executor, t.iterations, t.seconds, t.deviation, t.exposed, 100 * t.exposed / t.seconds,
               std::isnan(t.hidden) ? "-" : fmt::format("{:.0f} %", 100 * t.hidden), ratio(t.seconds / best),
               ratio(t.seconds / nonblocking));
  }
  fmt::print("seconds: time to solution, median of all runs, each the slowest rank's; MAD: median absolute deviation;\n"
             "exposed: time inside calls of the exchange; hidden: share of the exchange that passed outside them, by\n"
             "stoker's own count.\n");
}

void append_json(const std::string& file, const std::vector<Timing>& timings, const Options& o, int ranks, int nodes) {
  std::ofstream out(file, std::ios::app);
  if (!out) {
    throw std::runtime_error("cannot write " + file);
  }
  for (const Timing& t : timings) { // what is not a number becomes null
    out << nlohmann::json{{"benchmark", "plane_waves"},
                          {"exchange", name_of(t.variant)},
                          {"executor", t.executor},
                          {"mpi", mpi_library()},
                          {"ranks", ranks},
                          {"nodes", nodes},
                          {"n", o.problem.n},
                          {"cutoff", o.problem.cutoff},
                          {"bands", o.subspace.bands},
                          {"degree", o.subspace.degree},
                          {"iterations", t.iterations},
                          {"median_ms", 1e3 * t.seconds},
                          {"mad_ms", 1e3 * t.deviation},
                          {"exposed_ms", 1e3 * t.exposed},
                          {"hidden", t.hidden},
                          {"first_began_s", t.began},
                          {"first_ms", 1e3 * t.first},
                          {"correct", t.correct},
                          {"ratio", t.seconds / best_mpi(timings)},
                          {"ratio_nonblocking", t.seconds / seconds_of(timings, Variant::mpi_nonblocking)}}
               .dump()
        << '\n';
  }
}

} // namespace plane_waves
