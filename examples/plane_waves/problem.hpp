// SPDX-License-Identifier: BSD-3-Clause
// The Schroedinger operators -1/2 laplacian + V whose levels are known: V is a sum over the axes, so a level is a sum of
// three levels of one dimension.
#pragma once

#include <vector>

namespace plane_waves {

enum class Potential { harmonic, cosine };

struct Problem {
  Potential potential = Potential::harmonic;
  int n = 48;        // points a side
  int cutoff = 0;    // largest wave number along an axis
  double side = 12;  // of the periodic box
  double depth = 10; // of the cosine: V = -depth (cos(2 pi x / L) + the same in y and z)

  // V's share of one axis, at point i of it. Harmonic: (x - L / 2)^2 / 2.
  [[nodiscard]] double along_axis(int i) const;
  // |k|^2 / 2 has this share of an axis, for a wave number k.
  [[nodiscard]] double kinetic(int k) const;
  // No eigenvalue is larger.
  [[nodiscard]] double upper_bound() const;
};

// The lowest levels: exact for the harmonic oscillator without box and cutoff; for the cosine those of the same basis,
// from the dense matrix of one dimension.
std::vector<double> reference_levels(const Problem& problem, int count);

} // namespace plane_waves
