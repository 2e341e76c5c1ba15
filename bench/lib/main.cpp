// SPDX-License-Identifier: BSD-3-Clause
// stoker-bench BENCHMARK [options]: one driver for all benchmarks. Started by the MPI launcher, with the same arguments
// on every rank.
#include "bench/lib/benchmark.hpp"
#include "bench/lib/openshmem.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace bench = stoker::bench;

const std::map<std::string, int> thread_levels = {{"single", MPI_THREAD_SINGLE},
                                                  {"funneled", MPI_THREAD_FUNNELED},
                                                  {"serialized", MPI_THREAD_SERIALIZED},
                                                  {"multiple", MPI_THREAD_MULTIPLE}};

void add_common_options(CLI::App& app, bench::Options& options) {
  app.add_option("--json", options.json, "also write one JSON object a line to this file");
  app.add_option("--time", options.budget.seconds, "seconds per point, all its variants together")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--min-iterations", options.budget.min_iterations)
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--max-iterations", options.budget.max_iterations)
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--batch-us", options.budget.batch_us,
                 "short exchanges are repeated within a timed region of this length")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--set", options.settings, "KEY=VALUE: setting of the engine; may be repeated");
  app.add_option("--thread-level", options.thread_level,
                 "of MPI; all but multiple leave the inline executor only, and MPI at its fastest")
      ->check(CLI::IsMember(thread_levels))
      ->capture_default_str();
  app.add_option("--bind", options.bind, "cores: rank r is bound to the r-th (round robin); as launched when not given")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
}

// Prints the parser's message: help, or what is wrong with the arguments.
struct Usage {
  std::string out, err;
  int status = 0;
};

bool parse(CLI::App& app, int argc, char** argv, Usage& usage) {
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) { // asked for here, so that a wrong name is complained about by name
      throw CLI::RequiredError::Subcommand(1);
    }
    return true;
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    usage.status = app.exit(error, out, err);
    usage.out = out.str();
    usage.err = err.str();
    return false;
  }
}

void run(bench::Benchmark& benchmark, const bench::Options& options) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bench::Report report(rank == 0, options.json);
  report.note("stoker-bench " + benchmark.name() + ": " + benchmark.description());
  bench::Session session(MPI_COMM_WORLD, options, report);
  benchmark.run(session);
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"stoker-bench: benchmarks of stoker against the MPI library, in the same run"};
  app.require_subcommand(0, 1);
  bench::Options options;
  std::vector<std::pair<CLI::App*, std::unique_ptr<bench::Benchmark>>> benchmarks;
  for (auto make : {bench::make_overlap, bench::make_latency, bench::make_alltoall, bench::make_alltoallv,
                    bench::make_allreduce, bench::make_reduce, bench::make_bcast, bench::make_init,
                    bench::make_footprint, bench::make_neighbor, bench::make_fft, bench::make_call_cost,
                    bench::make_idle, bench::make_putget, bench::make_passive, bench::make_gups, bench::make_stencil}) {
    auto benchmark = make();
    CLI::App* command = app.add_subcommand(benchmark->name(), benchmark->description());
    benchmark->add_options(*command);
    add_common_options(*command, options);
    benchmarks.emplace_back(command, std::move(benchmark));
  }
  Usage usage;
  const bool parsed = parse(app, argc, argv, usage);

  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, parsed ? thread_levels.at(options.thread_level) : MPI_THREAD_SINGLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int status = usage.status;
  if (!parsed && rank == 0) {
    fmt::print("{}", usage.out);
    fmt::print(stderr, "{}", usage.err);
  }
  try {
    for (auto& [command, benchmark] : benchmarks) {
      if (parsed && command->parsed()) {
        run(*benchmark, options);
      }
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "stoker-bench: rank {}: {}\n", rank, error.what());
    std::fflush(stdout);
    // MPICH's launcher drops what it has not forwarded yet when a rank aborts.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  bench::finalize();
  return status;
}
