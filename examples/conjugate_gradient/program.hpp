// SPDX-License-Identifier: BSD-3-Clause
// Shared by the programs: options, how they start and how they end.
#pragma once

#include "criterion.hpp"
#include "halo.hpp"
#include "problem.hpp"

#include <CLI/CLI.hpp>
#include <mpi.h>

#include <functional>
#include <optional>
#include <string>

namespace conjugate_gradient {

struct Options {
  Problem problem;
  Criterion criterion;
  int repeat = 1;
  bool check = false;
  std::string json;
  Settings settings;
};

// The options must outlive the parsing.
void add_options(CLI::App& app, Options& options);

// Answers the exit status when the program is to end here. Every rank decides alike; only one of them should print.
std::optional<int> parse(CLI::App& app, int argc, char** argv, bool print);

// Runs `body` between initialisation and finalisation of MPI. What it throws is reported: InputError, which is thrown
// on all ranks, once, with status 2; everything else ends the job. Answers the exit status.
int run_program(const char* name, int& argc, char**& argv, const std::function<int(int rank, int ranks)>& body);

} // namespace conjugate_gradient
