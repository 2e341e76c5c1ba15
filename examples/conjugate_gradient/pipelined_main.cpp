// SPDX-License-Identifier: BSD-3-Clause
// pipelined_conjugate_gradient: solves a symmetric positive definite system, distributed by rows, with a method whose
// reductions pass behind the product of matrix and vector, and compares ways to reduce.
#include "methods.hpp"
#include "program.hpp"
#include "statistics.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>

using namespace conjugate_gradient;

namespace {

struct MethodOptions : Options {
  std::vector<Method> methods;
  std::vector<Reduce> reduces;
  std::vector<Variant> exchanges;
};

template <class Kinds>
std::vector<std::string> names_of(const Kinds& kinds) {
  std::vector<std::string> names;
  std::ranges::transform(kinds, std::back_inserter(names), [](auto kind) { return name_of(kind); });
  return names;
}

template <class Kinds>
auto named(const Kinds& kinds, const std::string& name) {
  return *std::ranges::find(kinds, name, [](auto kind) { return std::string(name_of(kind)); });
}

// As parse() of program.hpp.
std::optional<int> parse_methods(int argc, char** argv, bool print, MethodOptions& o) {
  CLI::App app(
      "Pipelined conjugate gradients on a distributed sparse matrix: one small reduction an iteration, which passes\n"
      "behind the product and its halo exchange. Times the iterations. The solution is a vector of ones.",
      "pipelined_conjugate_gradient");
  std::vector<std::string> methods = {"pipelined"};
  std::vector<std::string> reduces = {"stoker"};
  std::vector<std::string> exchanges = {"stoker"};
  bool compare = false;
  add_options(app, o);
  app.add_option("--variant", methods, "Of the method; several separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(names_of(all_methods)))
      ->capture_default_str();
  auto* reduce =
      app.add_option("--reduce", reduces,
                     "Who reduces; several separated by commas. mpi: MPI_Iallreduce; blocking: MPI_Allreduce")
          ->delimiter(',')
          ->check(CLI::IsMember(names_of(all_reduces)))
          ->capture_default_str();
  app.add_flag("--compare", compare, "Same as --reduce stoker,mpi")->excludes(reduce);
  app.add_option("--exchange", exchanges, "Who exchanges the halo, whoever reduces; several separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(names_of(all_variants)))
      ->capture_default_str();
  app.add_flag("--check", o.check,
               "Fail unless all converge, with the residuals of the same method on one rank; needs its time, too");
  if (const auto ended = parse(app, argc, argv, print)) {
    return ended;
  }
  if (compare) {
    reduces = {"stoker", "mpi"};
  }
  std::ranges::transform(methods, std::back_inserter(o.methods), [](auto& name) { return named(all_methods, name); });
  std::ranges::transform(reduces, std::back_inserter(o.reduces), [](auto& name) { return named(all_reduces, name); });
  std::ranges::transform(exchanges, std::back_inserter(o.exchanges),
                         [](auto& name) { return named(all_variants, name); });
  return std::nullopt;
}

// A way to solve.
struct Contender {
  Method method;
  Reduce reduce;
  Variant exchange;
  std::vector<double> us = {}; // an iteration, of each solve: the mean over its iterations on the slowest rank
  History last = {};
};

std::string name_of(const Contender& c) {
  return fmt::format("{}, {}, halo by {}", name_of(c.method), name_of(c.reduce), name_of(c.exchange));
}

// Ranks that share cores take turns: one's long iteration is another's short one, so that only all of them together
// tell how fast the method goes.
double iteration_us(const std::vector<double>& seconds, MPI_Comm comm) {
  double mean = std::reduce(seconds.begin(), seconds.end()) / static_cast<double>(seconds.size());
  MPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_DOUBLE, MPI_MAX, comm);
  return 1e6 * mean;
}

// The contenders take turns, in an order that is turned round each time.
void solve_all(const MethodOptions& o, const DistributedMatrix& a, std::vector<Contender>& contenders, bool print,
               MPI_Comm comm) {
  std::map<Variant, std::shared_ptr<stoker::Engine>> engines; // by executor; none for MPI's
  std::map<Variant, std::unique_ptr<Halo>> halos;
  const auto engine_of = [&](const Contender& c) {
    const bool reduces_alone = c.reduce == Reduce::stoker && !is_stoker(c.exchange);
    return engines[reduces_alone ? Variant::stoker : c.exchange];
  };
  for (const Variant v : all_variants) {
    const bool serves_reductions = v == Variant::stoker &&
                                   std::ranges::find(o.reduces, Reduce::stoker) != o.reduces.end() &&
                                   !std::ranges::all_of(o.exchanges, is_stoker);
    const bool exchanges = std::ranges::find(o.exchanges, v) != o.exchanges.end();
    if (exchanges || serves_reductions) {
      engines[v] = make_engine(v, o.settings, comm);
    }
    if (exchanges) {
      halos[v] = make_halo(v, a.halo_counts(), a.own_rows(), engines[v], comm);
    }
  }
  double reported = MPI_Wtime();
  std::vector<Contender*> turn;
  std::ranges::transform(contenders, std::back_inserter(turn), [](Contender& c) { return &c; });
  for (int i = 1; i <= o.repeat; ++i, std::ranges::reverse(turn)) {
    for (Contender* next : turn) {
      Contender& c = *next;
      const auto make = [&](std::size_t count) { return make_reduction(c.reduce, count, engine_of(c), comm); };
      MPI_Barrier(comm);
      c.last = solve(c.method, a, *halos[c.exchange], make, o.criterion, comm);
      c.us.push_back(iteration_us(c.last.seconds, comm));
      if (print && MPI_Wtime() - reported >= 1) {
        reported = MPI_Wtime();
        fmt::print(stderr, "{}, solve {} of {}: {} iterations, {:.1f} us each\n", name_of(c), i, o.repeat,
                   c.last.seconds.size(), c.us.back());
      }
    }
  }
}

// Whether all ranks have the same, to the bit. Collective.
bool agreed(const std::vector<double>& residuals, MPI_Comm comm) {
  std::vector<double> of_root = residuals;
  MPI_Bcast(of_root.data(), static_cast<int>(of_root.size()), MPI_DOUBLE, 0, comm);
  int same = of_root == residuals ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, comm);
  return same == 1;
}

// The method on this rank alone.
History serial_solve(Method method, const Matrix& whole, const Criterion& criterion) {
  const DistributedMatrix a(whole, MPI_COMM_SELF);
  const auto halo = make_halo(Variant::mpi, a.halo_counts(), a.own_rows(), nullptr, MPI_COMM_SELF);
  const auto make = [](std::size_t count) { return make_reduction(Reduce::blocking, count, nullptr, MPI_COMM_SELF); };
  return solve(method, a, *halo, make, criterion, MPI_COMM_SELF);
}

// The largest differences of two histories up to each iteration, relative to the first residual. They end where a
// recurrence ceases to tell the truth: where the residual is as small as what rounding errors set it apart from the
// true one.
std::vector<double> differences(const History& a, const History& b) {
  const double attainable = std::abs(b.true_residual - b.residuals.back());
  std::vector<double> differences;
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.residuals.size(), b.residuals.size()); ++i) {
    if (i > 0 && b.residuals[i] <= attainable) {
      break;
    }
    const double difference = std::abs(a.residuals[i] - b.residuals[i]);
    largest = difference <= largest ? largest : difference; // keeps a NaN
    differences.push_back(largest);
  }
  return differences;
}

// On rank 0: whether a contender's last solve went as that on one rank. In a badly conditioned system rounding errors
// of one iterate grow in the next ones; how much shows in the same system times 3, whose residuals are the same but for
// them.
bool is_as_serial(const Contender& c, const Matrix& whole, const Criterion& criterion) {
  constexpr double rounding = 1e-8;
  constexpr double sensitivity = 100;
  Matrix tripled = whole;
  std::ranges::transform(tripled.value, tripled.value.begin(), [](double v) { return 3 * v; });
  try {
    const History serial = serial_solve(c.method, whole, criterion);
    const std::vector<double> found = differences(c.last, serial);
    const std::vector<double> usual = differences(serial_solve(c.method, tripled, criterion), serial);
    fmt::print("  one rank alone: {} iterations, true residual {:.2e}; largest difference of the residuals {:.2e}, "
               "to be expected from rounding {:.2e}\n",
               serial.seconds.size(), serial.true_residual, found.back(), usual.back());
    for (std::size_t i = 0; i < std::min(found.size(), usual.size()); ++i) {
      if (!(found[i] <= std::max(rounding, sensitivity * usual[i]))) {
        return false;
      }
    }
    return true;
  } catch (const InputError& e) {
    fmt::print("  one rank alone: {}\n", e.what());
    return false;
  }
}

// Answers whether all that is asked for was found good, the same on all ranks. Collective.
bool report(const MethodOptions& o, const std::vector<Contender>& contenders, const Matrix& whole, bool root,
            MPI_Comm comm) {
  int good = 1;
  for (const Contender& c : contenders) {
    const bool same_on_all = agreed(c.last.residuals, comm);
    if (root) {
      fmt::print("{}: {} iterations{}, residual {:.2e} (true {:.2e}){}\n", name_of(c), c.last.seconds.size(),
                 c.last.converged ? "" : " (not converged)", c.last.residuals.back(), c.last.true_residual,
                 same_on_all ? "" : "; FAILED: ranks got different sums");
      if (o.check && !(same_on_all && c.last.converged && is_as_serial(c, whole, o.criterion))) {
        fmt::print("  FAILED\n");
        good = 0;
      }
    }
  }
  MPI_Bcast(&good, 1, MPI_INT, 0, comm);
  return good == 1;
}

// Times of each solve over those with the same method and exchange and MPI_Iallreduce, beside it; none when there are
// none.
std::vector<double> ratios(const Contender& c, const std::vector<Contender>& contenders) {
  std::vector<double> ratios;
  const auto mpi = std::ranges::find_if(contenders, [&](const Contender& other) {
    return other.method == c.method && other.exchange == c.exchange && other.reduce == Reduce::mpi;
  });
  if (mpi != contenders.end()) {
    std::ranges::transform(c.us, mpi->us, std::back_inserter(ratios), std::divides<>());
  }
  return ratios;
}

// The fastest way without stoker; nothing when there is none.
std::optional<double> best_mpi_us(const std::vector<Contender>& contenders) {
  std::optional<double> best;
  for (const Contender& c : contenders) {
    if (c.reduce != Reduce::stoker && !is_stoker(c.exchange)) {
      best = std::min(best.value_or(median(c.us)), median(c.us));
    }
  }
  return best;
}

nlohmann::json summary(const std::vector<double>& values) {
  if (values.empty()) {
    return nullptr;
  }
  const auto [min, max] = std::ranges::minmax(values);
  return {{"median", median(values)}, {"mad", deviation(values)}, {"min", min}, {"max", max}};
}

void write_json(const MethodOptions& o, const std::vector<Contender>& contenders, const Matrix& whole, int ranks) {
  std::ofstream json(o.json, std::ios::app);
  if (!json) {
    throw std::runtime_error("cannot write " + o.json);
  }
  for (const Contender& c : contenders) {
    json << nlohmann::json{{"benchmark", "pipelined_conjugate_gradient"},
                           {"variant", name_of(c.method)},
                           {"reduce", name_of(c.reduce)},
                           {"executor", c.last.executor},
                           {"exchange", name_of(c.exchange)},
                           {"jacobi", o.criterion.jacobi},
                           {"ranks", ranks},
                           {"matrix", describe(o.problem)},
                           {"rows", whole.rows},
                           {"iterations", c.last.seconds.size()},
                           {"converged", c.last.converged},
                           {"true_residual", c.last.true_residual},
                           {"solves", c.us.size()},
                           {"iteration_us", summary(c.us)},
                           {"hidden", c.last.hidden},
                           {"ratio_to_mpi", summary(ratios(c, contenders))}}
                .dump()
         << '\n';
  }
}

void print_table(const std::vector<Contender>& contenders) {
  const std::optional<double> best = best_mpi_us(contenders);
  fmt::print("{:<10} {:<9} {:<16} {:>9} {:>16} {:>8} {:>9} {:>9} {:>7} {:>11}   {}\n", "variant", "reduce", "exchange",
             "executor", "us an iteration", "mad", "fastest", "slowest", "hidden", "/ best MPI",
             "/ mpi of the same round: median, mad, range");
  for (const Contender& c : contenders) {
    const auto [fastest, slowest] = std::ranges::minmax(c.us);
    const std::vector<double> r = ratios(c, contenders);
    fmt::print("{:<10} {:<9} {:<16} {:>9} {:>16.2f} {:>8.2f} {:>9.2f} {:>9.2f} {:>7} {:>11}   {}\n", name_of(c.method),
               name_of(c.reduce), name_of(c.exchange), c.last.executor, median(c.us), deviation(c.us), fastest, slowest,
               std::isnan(c.last.hidden) ? "-" : fmt::format("{:.0f} %", 100 * c.last.hidden),
               best ? fmt::format("{:.3f}", median(c.us) / *best) : "-",
               r.empty() ? "-"
                         : fmt::format("{:.3f}, {:.3f}, {:.3f} to {:.3f}", median(r), deviation(r),
                                       *std::ranges::min_element(r), *std::ranges::max_element(r)));
  }
  fmt::print(
      "hidden: share of the reduction that passed outside stoker's calls, by its own count; best MPI: the fastest\n"
      "in which stoker has no part; / mpi: the same method and exchange with MPI_Iallreduce.\n");
}

int run(const MethodOptions& o, bool root, int ranks, MPI_Comm comm) {
  const Matrix whole = load(o.problem, comm);
  const DistributedMatrix a(whole, comm);
  std::vector<Contender> contenders;
  for (const Method method : o.methods) {
    for (const Reduce reduce : o.reduces) {
      for (const Variant exchange : o.exchanges) {
        contenders.push_back({.method = method, .reduce = reduce, .exchange = exchange});
      }
    }
  }
  if (root) {
    fmt::print("Conjugate gradients{}, {}, {} rows, {} entries; {} ranks\n",
               o.criterion.jacobi ? " with Jacobi preconditioner" : "", describe(o.problem), whole.rows,
               whole.value.size(), ranks);
  }
  solve_all(o, a, contenders, root, comm);
  const bool good = report(o, contenders, whole, root, comm);
  if (root) {
    print_table(contenders);
    if (!o.json.empty()) {
      write_json(o, contenders, whole, ranks);
    }
  }
  return good ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  return run_program("pipelined_conjugate_gradient", argc, argv, [&](int rank, int ranks) {
    MethodOptions options;
    const auto ended = parse_methods(argc, argv, rank == 0, options);
    return ended ? *ended : run(options, rank == 0, ranks, MPI_COMM_WORLD);
  });
}
