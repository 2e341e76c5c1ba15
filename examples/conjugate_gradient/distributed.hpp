// SPDX-License-Identifier: BSD-3-Clause
// A matrix distributed by blocks of rows, and its product with a vector, the halo exchange hidden behind the rows that
// do not need it.
#pragma once

#include "halo.hpp"
#include "matrix.hpp"

#include <mpi.h>

#include <span>
#include <vector>

namespace conjugate_gradient {

// Rows are dealt to ranks in whole blocks, over which dot products are summed first: the sum of the blocks' sums, in
// their order, does not depend on the number of ranks.
struct Blocks {
  int rows = 0;
  int count = 0; // of blocks, equal on all ranks
  int ranks = 1;

  Blocks(int all_rows, int all_ranks) : rows(all_rows), count(all_ranks > 64 ? all_ranks : 64), ranks(all_ranks) {}
  [[nodiscard]] int row_of(int block) const { // its first
    return static_cast<int>(static_cast<long long>(rows) * block / count);
  }
  [[nodiscard]] int first_block(int rank) const {
    return static_cast<int>(static_cast<long long>(count) * rank / ranks);
  }
  [[nodiscard]] int first_row(int rank) const { return row_of(first_block(rank)); }
};

class DistributedMatrix {
public:
  // Collective: rank 0 has the matrix, the others' argument is ignored.
  DistributedMatrix(const Matrix& whole, MPI_Comm comm);

  [[nodiscard]] const Blocks& blocks() const { return blocks_; }
  [[nodiscard]] int own_rows() const { return local_.rows; }
  [[nodiscard]] int first_row() const { return first_row_; }
  [[nodiscard]] const HaloCounts& halo_counts() const { return counts_; }
  [[nodiscard]] std::vector<double> diagonal() const;

  // y = A x, where x is the halo's vector. Collective.
  void multiply(Halo& halo, std::span<double> y) const;

private:
  void receive_rows(const Matrix& whole, MPI_Comm comm);
  void plan_halo(MPI_Comm comm);

  Blocks blocks_;
  int first_row_ = 0;
  Matrix local_;              // columns: own entries first, then the halo
  std::vector<int> interior_; // rows that need no halo
  std::vector<int> boundary_; // the others
  HaloCounts counts_;
  std::vector<int> outgoing_; // own entries that others need, rank by rank
};

} // namespace conjugate_gradient
