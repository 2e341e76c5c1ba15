// SPDX-License-Identifier: BSD-3-Clause
// Which matrix is solved with.
#pragma once

#include "matrix.hpp"

#include <mpi.h>

#include <string>

namespace conjugate_gradient {

struct Problem {
  std::string matrix; // file; empty: a Laplacian
  int side = 128;
  int dimensions = 2;
  Stencil stencil = Stencil::star;
};

std::string describe(const Problem& problem);

// On rank 0 the matrix; throws InputError on every rank when there is something wrong with it. Collective.
Matrix load(const Problem& problem, MPI_Comm comm);

} // namespace conjugate_gradient
