// SPDX-License-Identifier: BSD-3-Clause
// What a step takes at best: its tasks in their order, each begun as soon as its tiles have arrived, on a wire that is
// busy as long as there is a tile to send and that costs no processor time.
#pragma once

#include "run.hpp"

#include <mpi.h>

namespace taylor_green {

struct Bound { // seconds of a step
  int chunks = 0;
  double computation = 0; // of all tasks, measured without an exchange, on all ranks at the same time
  double wire = 0;        // all bytes that leave a host, at the rate of its link
  double time_line = 0;   // longer than either by what the dependencies make one wait for the other
};

// `rate` in bytes a second. All hosts are taken to have equally many ranks. Collective.
Bound bound_of(const Case& setup, int chunks, int nodes, double rate, MPI_Comm comm);

} // namespace taylor_green
