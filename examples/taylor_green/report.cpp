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
#include <numbers>
#include <stdexcept>

namespace taylor_green {
namespace {

std::ofstream open(const std::string& file, std::ios::openmode mode) {
  std::ofstream out(file, mode);
  if (!out) {
    throw std::runtime_error("cannot write " + file);
  }
  return out;
}

// The shortest time line; NaN without bounds.
double best_of(const std::vector<Bound>& bounds) {
  return bounds.empty() ? std::numeric_limits<double>::quiet_NaN()
                        : std::ranges::min(bounds, {}, &Bound::time_line).time_line;
}

} // namespace

Timing summarise(const Contender& contender, MPI_Comm comm) {
  const std::vector<double>& steps = contender.step_seconds;
  const ExchangeTimes times = contender.exchange->times();
  std::array<double, 2> sums{times.hidden, times.exchange};
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_DOUBLE, MPI_SUM, comm);
  return {.variant = contender.variant,
          .executor = contender.exchange->executor(),
          .chunks = contender.solver->grid().chunks,
          .step = median(steps),
          .deviation = median_absolute_deviation(steps),
          .fastest = std::ranges::min(steps),
          .slowest = std::ranges::max(steps),
          .exposed = median(contender.exposed_seconds),
          .helper = median(contender.helper_seconds),
          .hidden = is_stoker(contender.variant) ? sums[0] / sums[1] : std::numeric_limits<double>::quiet_NaN()};
}

double best_mpi(const std::vector<Timing>& timings) {
  double best = std::numeric_limits<double>::quiet_NaN();
  for (const Timing& t : timings) {
    if (!is_stoker(t.variant) && !(best <= t.step)) {
      best = t.step;
    }
  }
  return best;
}

void print_bounds(const std::vector<Bound>& bounds) {
  for (const Bound& b : bounds) {
    fmt::print("at best with {} {}: step {:.2f} ms (computation {:.2f}, wire {:.2f})\n", b.chunks,
               b.chunks == 1 ? "chunk" : "chunks", 1e3 * b.time_line, 1e3 * b.computation, 1e3 * b.wire);
  }
}

void print_table(const std::vector<Timing>& timings, const std::vector<Bound>& bounds) {
  const double best = best_mpi(timings);
  const double bound = best_of(bounds);
  fmt::print("{:<21} {:>8} {:>6} {:>9} {:>7} {:>9} {:>9} {:>10} {:>8} {:>8} {:>9} {:>11} {:>8}\n", "exchange",
             "executor", "chunks", "step ms", "MAD", "fastest", "slowest", "exposed ms", "of step", "hidden",
             "helper ms", "/ best MPI", "/ bound");
  for (const Timing& t : timings) {
    fmt::print("{:<21} {:>8} {:>6} {:>9.2f} {:>7.2f} {:>9.2f} {:>9.2f} {:>10.2f} {:>6.0f} % {:>8} {:>9} {:>11} {:>8}\n",
               name_of(t.variant), t.executor, t.chunks, 1e3 * t.step, 1e3 * t.deviation, 1e3 * t.fastest,
               1e3 * t.slowest, 1e3 * t.exposed, 100 * t.exposed / t.step,
               std::isnan(t.hidden) ? "-" : fmt::format("{:.0f} %", 100 * t.hidden),
               t.helper == 0 ? "-" : fmt::format("{:.2f}", 1e3 * t.helper),
               std::isnan(best) ? "-" : fmt::format("{:.2f}", t.step / best),
               std::isnan(bound) ? "-" : fmt::format("{:.2f}", t.step / bound));
  }
  fmt::print("step: median over all timed steps, each the slowest rank's; MAD: median absolute deviation; exposed: "
             "time inside\n"
             "calls of the exchange; hidden: share of the exchange that passed outside them, by stoker's own count; "
             "helper:\nprocessor time of the helpers in a step, for each rank; bound: the shortest step at best.\n");
}

void append_json(const std::string& file, const std::vector<Timing>& timings, const std::vector<Bound>& bounds,
                 const Case& setup, int ranks, int nodes) {
  std::ofstream out = open(file, std::ios::app);
  const double best = best_mpi(timings);
  for (const Timing& t : timings) { // what is not a number becomes null
    out << nlohmann::json{{"benchmark", "taylor_green"},
                          {"exchange", name_of(t.variant)},
                          {"executor", t.executor},
                          {"mpi", mpi_library()},
                          {"ranks", ranks},
                          {"nodes", nodes},
                          {"n", setup.n},
                          {"case", setup.two_dimensional ? "2d" : "3d"},
                          {"statistics", setup.statistics},
                          {"chunks", t.chunks},
                          {"median_ms", 1e3 * t.step},
                          {"mad_ms", 1e3 * t.deviation},
                          {"min_ms", 1e3 * t.fastest},
                          {"max_ms", 1e3 * t.slowest},
                          {"exposed_ms", 1e3 * t.exposed},
                          {"hidden", t.hidden},
                          {"helper_ms", 1e3 * t.helper},
                          {"bound_ms", 1e3 * best_of(bounds)},
                          {"ratio", t.step / best}}
               .dump()
        << '\n';
  }
}

void write_energy(const std::string& file, const std::vector<Diagnostics>& curve, double nu) {
  std::ofstream out = open(file, std::ios::out);
  out << "time,energy,enstrophy,dissipation,divergence\n";
  for (const Diagnostics& d : curve) {
    out << fmt::format("{},{},{},{},{}\n", d.time, d.energy, d.enstrophy, 2 * nu * d.enstrophy, d.divergence);
  }
}

void write_structure(const std::string& file, const std::vector<StructureFunctions::Entry>& functions, int n) {
  std::ofstream out = open(file, std::ios::out);
  out << "r";
  for (const char* kind : {"longitudinal", "transverse"}) {
    for (const int order : StructureFunctions::orders) {
      out << fmt::format(",{}{}", kind, order);
    }
  }
  for (std::size_t r = 0; r < functions.size(); ++r) {
    out << fmt::format("\n{}", 2 * std::numbers::pi / n * static_cast<double>(r));
    for (const auto& moments : {functions[r].longitudinal, functions[r].transverse}) {
      for (const double value : moments) {
        out << fmt::format(",{}", value);
      }
    }
  }
  out << '\n';
}

void write_slice(const std::string& file, const std::vector<double>& slice, int n) {
  std::ofstream out = open(file, std::ios::out);
  for (std::size_t i = 0; i < slice.size(); ++i) {
    out << fmt::format("{:.8g}{}", slice[i], (i + 1) % static_cast<std::size_t>(n) == 0 ? '\n' : ' ');
  }
}

} // namespace taylor_green
