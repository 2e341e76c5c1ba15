// SPDX-License-Identifier: BSD-3-Clause
// Loads the matrix; what is wrong with it is known to all ranks.
#include "problem.hpp"

#include <exception>

namespace conjugate_gradient {

std::string describe(const Problem& problem) {
  if (!problem.matrix.empty()) {
    return problem.matrix;
  }
  const std::string side = std::to_string(problem.side);
  const int star = (2 * problem.dimensions) + 1;
  const int box = problem.dimensions == 3 ? 27 : 9;
  return std::to_string(problem.stencil == Stencil::box ? box : star) + "-point Laplacian " + side + " x " + side +
         (problem.dimensions == 3 ? " x " + side : "");
}

Matrix load(const Problem& problem, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  Matrix a;
  std::string wrong;
  if (rank == 0) {
    try {
      a = problem.matrix.empty() ? poisson(problem.side, problem.dimensions, problem.stencil)
                                 : read_matrix_market(problem.matrix);
      require_symmetric(a);
    } catch (const std::exception& e) {
      wrong = e.what();
    }
  }
  int length = static_cast<int>(wrong.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, comm);
  if (length > 0) {
    wrong.resize(static_cast<std::size_t>(length));
    MPI_Bcast(wrong.data(), length, MPI_CHAR, 0, comm);
    throw InputError(wrong);
  }
  return a;
}

} // namespace conjugate_gradient
