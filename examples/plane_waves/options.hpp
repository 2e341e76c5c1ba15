// SPDX-License-Identifier: BSD-3-Clause
// The command line of plane_waves.
#pragma once

#include "problem.hpp"
#include "solver.hpp"

#include "examples/transposes/exchange.hpp"

#include <optional>
#include <string>
#include <vector>

namespace plane_waves {

struct Options {
  Problem problem;
  Subspace subspace;
  std::vector<Variant> variants;
  int repeat = 1;
  bool check = false;
  std::string json;
  EngineOptions engine;
};

// Answers the exit status when the program is to end here. Every rank decides alike; only one of them should print.
std::optional<int> parse(int argc, char** argv, bool print, Options& o);

} // namespace plane_waves
