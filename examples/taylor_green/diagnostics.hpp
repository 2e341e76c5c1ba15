// SPDX-License-Identifier: BSD-3-Clause
// What is measured and checked about a velocity field.
#pragma once

#include "solver.hpp"

#include <vector>

namespace taylor_green {

struct Diagnostics {
  double time = 0;
  double energy = 0;     // mean of |u|^2 / 2
  double enstrophy = 0;  // mean of |omega|^2 / 2
  double divergence = 0; // largest |k . u| over the largest |k| |u|
};

// Collective.
Diagnostics diagnose(const Grid& grid, const Field& velocity, double time, MPI_Comm comm);

// Largest |a - factor * b| over the largest |factor * b|. Collective.
double relative_difference(const Field& a, double factor, const Field& b, MPI_Comm comm);

// dE/dt = -2 nu enstrophy: the largest relative deviation along a curve of equidistant times, dE/dt being the central
// difference of fourth order. Needs five points; answers 0 with fewer.
double energy_imbalance(const std::vector<Diagnostics>& curve, double nu);

// The longitudinal structure function of second order at a separation in grid spacings, from the spectrum. Collective.
double second_order_structure(const Grid& grid, const Field& velocity, int separation, MPI_Comm comm);

} // namespace taylor_green
