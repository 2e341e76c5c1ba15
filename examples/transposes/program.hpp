// SPDX-License-Identifier: BSD-3-Clause
// What programs share that compare exchanges: their options, checks and a few figures.
#pragma once

#include "examples/transposes/exchange.hpp"

#include <CLI/CLI.hpp>
#include <mpi.h>

#include <string>
#include <vector>

namespace transposes {

// What the command line says in words.
struct ExchangeWords {
  std::vector<std::string> exchanges = {"stoker"};
  std::string buffers = "mapped";
  std::string trace;
  std::vector<std::string> settings;
};
void add_options(CLI::App& app, ExchangeWords& words);
// Answers what is wrong with them; "" if nothing.
std::string read(const ExchangeWords& words, std::vector<Variant>& variants, EngineOptions& engine);

// The checks, printed one a line by rank 0.
class Checks {
public:
  explicit Checks(bool print) : print_(print) {}
  void expect(const std::string& what, double value, double limit);
  [[nodiscard]] bool passed() const { return passed_; }

private:
  bool print_;
  bool passed_ = true;
};

double median(std::vector<double> values);
double median_absolute_deviation(const std::vector<double>& values);

// Collective.
int nodes_of(MPI_Comm comm);
// "mpich" or "openmpi".
std::string mpi_library();

} // namespace transposes
