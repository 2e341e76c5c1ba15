// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients with few and small reductions, on a distributed matrix, with an optional Jacobi preconditioner.
//
// pipelined: Ghysels and Vanroose, "Hiding global synchronization latency in the preconditioned Conjugate Gradient
// algorithm", Parallel Computing 40 (2014), algorithm 4. It has one reduction of three sums in each iteration, hidden
// behind the product of matrix and vector and its halo exchange. Its price is two more recurrences, whose rounding
// errors make the residual that can be attained larger.
//
// classic: Saad, "Iterative Methods for Sparse Linear Systems", algorithm 9.1. It has two reductions in each iteration,
// with nothing to hide them behind.
#pragma once

#include "criterion.hpp"
#include "distributed.hpp"
#include "reduction.hpp"

#include <mpi.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace conjugate_gradient {

enum class Method { pipelined, classic };
inline constexpr Method all_methods[] = {Method::pipelined, Method::classic};
const char* name_of(Method method);

// The result of a solve. All but the seconds is the same on all ranks.
struct History {
  std::vector<double> residuals; // |r| / |b| of x = 0 and after each iteration, r as the recurrence has it
  std::vector<double> seconds;   // of each iteration
  double true_residual = 0;      // |b - A x| / |b|
  bool converged = false;
  double hidden = 0;    // of the reductions: see Reduction
  std::string executor; // of the reductions
};

// So many sums.
using MakeReduction = std::function<std::unique_ptr<Reduction>(std::size_t count)>;

// Solves A x = b with b = A (1, 1, ..., 1); at least one iteration. Throws InputError, on all ranks, when a direction
// is met in which the matrix is not positive. Collective.
History solve(Method method, const DistributedMatrix& a, Halo& halo, const MakeReduction& make_reduction,
              const Criterion& criterion, MPI_Comm comm);

} // namespace conjugate_gradient
