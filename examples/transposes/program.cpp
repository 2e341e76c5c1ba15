// SPDX-License-Identifier: BSD-3-Clause
#include "examples/transposes/program.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace transposes {

void add_options(CLI::App& app, ExchangeWords& words) {
  std::vector<std::string> choices = {"all"};
  for (const Variant v : all_variants) {
    choices.emplace_back(name_of(v));
  }
  app.add_option("--exchange", words.exchanges, "Who transposes; several separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(choices))
      ->capture_default_str();
  app.add_option("--trace", words.trace, "File for stoker's trace of ranks and helpers");
  app.add_option("--buffers", words.buffers, "Memory that stoker transposes from and to")
      ->check(CLI::IsMember({"mapped", "own"}))
      ->capture_default_str();
  app.add_option("--setting", words.settings, "KEY=VALUE for the engine; may be repeated");
}

std::string read(const ExchangeWords& words, std::vector<Variant>& variants, EngineOptions& engine) {
  if (std::ranges::find(words.exchanges, "all") != words.exchanges.end()) {
    variants.assign(std::begin(all_variants), std::end(all_variants));
  } else {
    std::ranges::transform(words.exchanges, std::back_inserter(variants),
                           [&](const auto& name) { return *std::ranges::find(all_variants, name, name_of); });
  }
  for (const std::string& setting : words.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      return fmt::format("--setting {}: expected KEY=VALUE", setting);
    }
    engine.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  if (!words.trace.empty()) {
    engine.settings.emplace_back("trace", words.trace);
  }
  engine.mapped_buffers = words.buffers == "mapped";
  return "";
}

void Checks::expect(const std::string& what, double value, double limit) {
  const bool good = value <= limit; // false for NaN
  passed_ = passed_ && good;
  if (print_) {
    fmt::print("{} {}: {:.2e}, at most {:.0e}\n", good ? "ok    " : "FAILED", what, value, limit);
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double median_absolute_deviation(const std::vector<double>& values) {
  std::vector<double> deviations;
  const double middle = median(values);
  std::ranges::transform(values, std::back_inserter(deviations), [&](double v) { return std::abs(v - middle); });
  return median(deviations);
}

int nodes_of(MPI_Comm comm) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int rank = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  int first = rank == 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_SUM, comm);
  return first;
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return std::string(text.data()).starts_with("Open MPI") ? "openmpi" : "mpich";
}

} // namespace transposes
