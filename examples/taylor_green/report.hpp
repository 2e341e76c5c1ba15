// SPDX-License-Identifier: BSD-3-Clause
// The output of a run: the table of timings, JSON lines, the energy curve and a slice of the vorticity.
#pragma once

#include "bound.hpp"
#include "run.hpp"

#include <string>
#include <vector>

namespace taylor_green {

struct Timing {
  Variant variant;
  std::string executor;
  int chunks;
  double step;      // median seconds of a step
  double deviation; // median absolute deviation from it
  double fastest, slowest;
  double exposed; // median seconds a step inside calls of the exchange
  double helper;  // median seconds a step of helpers' processor time, for each rank
  double hidden;  // share of the exchange that passed outside stoker's calls, by its own count; NaN for MPI
};

// Collective; the result counts on rank 0.
Timing summarise(const Contender& contender, MPI_Comm comm);

// Time of the fastest MPI variant; NaN when none was run.
double best_mpi(const std::vector<Timing>& timings);

void print_bounds(const std::vector<Bound>& bounds);
// `bounds` may be empty.
void print_table(const std::vector<Timing>& timings, const std::vector<Bound>& bounds);
void append_json(const std::string& file, const std::vector<Timing>& timings, const std::vector<Bound>& bounds,
                 const Case& setup, int ranks, int nodes);
void write_energy(const std::string& file, const std::vector<Diagnostics>& curve, double nu);
void write_structure(const std::string& file, const std::vector<StructureFunctions::Entry>& functions, int n);
// A text matrix, a row of the plane a line.
void write_slice(const std::string& file, const std::vector<double>& slice, int n);

} // namespace taylor_green
