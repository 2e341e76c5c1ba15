// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients with an optional Jacobi preconditioner (Saad, Iterative Methods for Sparse Linear Systems,
// algorithm 9.1), for a matrix on one rank and for a distributed one. Both do the same arithmetic in the same order, so
// that their iterates are equal bit for bit, with any number of ranks. Nothing less could be compared: in a badly
// conditioned system round-off of one iterate grows without bound in the next ones.
#pragma once

#include "criterion.hpp"
#include "distributed.hpp"

#include <vector>

namespace conjugate_gradient {

struct Solution {
  std::vector<double> x;         // own entries
  std::vector<double> residuals; // |r| / |b| after each iteration, r as the recurrence has it
  double true_residual = 0;      // |b - A x| / |b|
  bool converged = false;
  double seconds = 0; // in the iterations
};

// Solves A x = b with b = A (1, 1, ..., 1). Throws InputError, on all ranks, when the matrix turns out not to be
// positive definite.
Solution solve(const Matrix& a, const Blocks& blocks, const Criterion& criterion);
// Collective.
Solution solve(const DistributedMatrix& a, Halo& halo, const Criterion& criterion, MPI_Comm comm);

} // namespace conjugate_gradient
