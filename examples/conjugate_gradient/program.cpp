// SPDX-License-Identifier: BSD-3-Clause
// Options, start and end.
#include "program.hpp"

#include <fmt/core.h>

#include <exception>
#include <map>
#include <vector>

namespace conjugate_gradient {

void add_options(CLI::App& app, Options& o) {
  auto* matrix =
      app.add_option("--matrix", o.problem.matrix, "Matrix Market file; default: the Laplacian of --poisson");
  app.add_option("--poisson", o.problem.side, "Points a side of a grid")
      ->check(CLI::Range(2, 20000))
      ->excludes(matrix)
      ->capture_default_str();
  app.add_option("--dimensions", o.problem.dimensions, "2: a square grid; 3: a cube")
      ->check(CLI::Range(2, 3))
      ->excludes(matrix)
      ->capture_default_str();
  const std::map<std::string, Stencil> stencils = {{"star", Stencil::star}, {"box", Stencil::box}};
  app.add_option_function<std::string>(
         "--stencil", [&o, stencils](const std::string& name) { o.problem.stencil = stencils.at(name); },
         "star: five-point or seven-point Laplacian; box: nine-point or 27-point")
      ->check(CLI::IsMember(stencils))
      ->excludes(matrix)
      ->default_str("star");
  app.add_option("--tolerance", o.criterion.tolerance, "On |r| / |b|")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-iterations,--iterations", o.criterion.iterations, "At most")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--jacobi", o.criterion.jacobi, "Precondition with the diagonal");
  app.add_option("--repeat", o.repeat, "Solves of each kind, which take turns")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--json", o.json, "File to append a JSON line for each kind to");
  app.add_option_function<std::string>(
      "--trace", [&o](const std::string& file) { o.settings.emplace_back("trace", file); },
      "File for stoker's trace of ranks and helpers");
  const auto set = [&o](const std::vector<std::string>& settings) {
    for (const std::string& setting : settings) {
      const std::size_t equals = setting.find('=');
      if (equals == std::string::npos) {
        throw CLI::ValidationError("--setting", setting + ": expected KEY=VALUE");
      }
      o.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
  };
  app.add_option_function<std::vector<std::string>>("--setting", set, "KEY=VALUE for the engine; may be repeated");
}

std::optional<int> parse(CLI::App& app, int argc, char** argv, bool print) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return print ? app.exit(e) : 0;
  } catch (const CLI::ParseError& e) {
    if (print) {
      fmt::print(stderr, "{}: {}\n", app.get_name(), e.what());
    }
    return 2;
  }
  return std::nullopt;
}

int run_program(const char* name, int& argc, char**& argv, const std::function<int(int rank, int ranks)>& body) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level); // stoker's progress thread communicates
  int ranks = 1;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int status = 0;
  try {
    status = body(rank, ranks);
  } catch (const InputError& e) {
    if (rank == 0) {
      fmt::print(stderr, "{}: {}\n", name, e.what());
    }
    status = 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: rank {}: {}\n", name, rank, e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

} // namespace conjugate_gradient
