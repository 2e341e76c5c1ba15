// SPDX-License-Identifier: BSD-3-Clause
// Time over size, one line for each algorithm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stoker::cli {

struct Curve {
  std::string name;
  std::vector<double> seconds; // for each size
  std::vector<bool> ringed;    // likewise: its point gets a ring
};

// Throws std::invalid_argument for fewer than two sizes, and for 0 bytes, which a logarithmic axis does not have.
void check_drawable(const std::vector<std::uint64_t>& bytes);
// `bytes`: drawable. `ring`: what rings say, for the legend; empty: nothing.
void draw_curves(const std::string& title, const std::vector<std::uint64_t>& bytes, const std::vector<Curve>& curves,
                 const std::string& ring, const std::string& path);

} // namespace stoker::cli
