// SPDX-License-Identifier: BSD-3-Clause
// The command line of taylor_green.
#pragma once

#include "run.hpp"

#include "examples/transposes/exchange.hpp"

#include <numbers>
#include <optional>
#include <string>
#include <vector>

namespace taylor_green {

struct Options {
  Case setup;
  double reynolds = 0;
  std::vector<Variant> variants;
  int chunks = 0;
  double rate = 0; // of a host's link, Gbit/s; 0: not known
  int repeat = 1;
  bool check = false;
  std::string output;
  std::string json;
  double slice = std::numbers::pi / 4;
  EngineOptions engine;
};

// Answers the exit status when the program is to end here. Every rank decides alike; only one of them should print.
std::optional<int> parse(int argc, char** argv, int ranks, bool print, Options& o);

} // namespace taylor_green
