// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients, written once over an operator that multiplies and sums.
#include "solver.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace conjugate_gradient {
namespace {

using Vector = std::vector<double>;

// Sums of a[i] * b[i] over each of the blocks from `block` on, which begin with the vectors, to sums[block], ...
void block_sums(std::span<const double> a, std::span<const double> b, const Blocks& blocks, int block, int end,
                std::span<double> sums) {
  std::size_t i = 0;
  for (; block < end; ++block) {
    double sum = 0;
    for (int row = blocks.row_of(block); row < blocks.row_of(block + 1); ++row, ++i) {
      sum += a[i] * b[i];
    }
    sums[static_cast<std::size_t>(block)] = sum;
  }
}

double in_order(std::span<const double> sums) {
  double sum = 0;
  for (const double s : sums) {
    sum += s;
  }
  return sum;
}

// The whole matrix on one rank.
class Serial {
public:
  Serial(const Matrix& a, const Blocks& blocks)
      : a_(a), blocks_(blocks), p_(static_cast<std::size_t>(a.rows)), sums_(static_cast<std::size_t>(blocks.count)) {}
  [[nodiscard]] std::span<double> operand() { return p_; }
  void multiply(std::span<double> y) const {
    for (int row = 0; row < a_.rows; ++row) {
      multiply_row(a_, row, p_, y);
    }
  }
  double dot(std::span<const double> a, std::span<const double> b) {
    block_sums(a, b, blocks_, 0, blocks_.count, sums_);
    return in_order(sums_);
  }
  [[nodiscard]] Vector diagonal() const {
    Vector diagonal(p_.size());
    for (std::size_t row = 0; row < diagonal.size(); ++row) {
      const auto first = a_.column.begin() + a_.first[row];
      const auto found = std::find(first, a_.column.begin() + a_.first[row + 1], static_cast<int>(row));
      diagonal[row] = a_.value[static_cast<std::size_t>(found - a_.column.begin())];
    }
    return diagonal;
  }

private:
  const Matrix& a_;
  const Blocks& blocks_;
  Vector p_, sums_;
};

class Parallel {
public:
  Parallel(const DistributedMatrix& a, Halo& halo, MPI_Comm comm) : a_(a), halo_(halo), comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
  }
  [[nodiscard]] std::span<double> operand() { return halo_.vector().first(static_cast<std::size_t>(a_.own_rows())); }
  void multiply(std::span<double> y) const { a_.multiply(halo_, y); }
  // Every block's sum is zero on all ranks but one, so that the order in which MPI adds them does not matter.
  double dot(std::span<const double> a, std::span<const double> b) {
    const Blocks& blocks = a_.blocks();
    sums_.assign(static_cast<std::size_t>(blocks.count), 0);
    block_sums(a, b, blocks, blocks.first_block(rank_), blocks.first_block(rank_ + 1), sums_);
    MPI_Allreduce(MPI_IN_PLACE, sums_.data(), blocks.count, MPI_DOUBLE, MPI_SUM, comm_);
    return in_order(sums_);
  }
  [[nodiscard]] Vector diagonal() const { return a_.diagonal(); }

private:
  const DistributedMatrix& a_;
  Halo& halo_;
  MPI_Comm comm_;
  int rank_ = 0;
  Vector sums_;
};

template <class Operator>
Solution conjugate_gradients(Operator& a, const Criterion& criterion) {
  const std::span<double> p = a.operand();
  const std::size_t n = p.size();
  Vector q(n), z(n), scale(n, 1.0);
  if (criterion.jacobi) {
    std::ranges::transform(a.diagonal(), scale.begin(), [](double d) { return 1 / d; });
  }
  std::ranges::fill(p, 1.0);
  a.multiply(q);
  const Vector b = q;
  const double norm_b = std::sqrt(a.dot(b, b));

  Solution solution;
  Vector& x = solution.x;
  x.assign(n, 0);
  Vector r = b;
  std::ranges::transform(scale, r, z.begin(), std::multiplies<>());
  std::ranges::copy(z, p.begin());
  double rz = a.dot(r, z);
  const double begin = MPI_Wtime();
  while (!solution.converged && static_cast<int>(solution.residuals.size()) < criterion.iterations) {
    a.multiply(q);
    const double curvature = a.dot(p, q);
    if (!(curvature > 0)) {
      throw InputError(fmt::format("the matrix is not positive definite: p'Ap = {} in iteration {}", curvature,
                                   solution.residuals.size() + 1));
    }
    const double alpha = rz / curvature;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      z[i] = scale[i] * r[i];
    }
    solution.residuals.push_back(std::sqrt(a.dot(r, r)) / norm_b);
    solution.converged = solution.residuals.back() <= criterion.tolerance;
    const double next = a.dot(r, z);
    const double beta = next / rz;
    rz = next;
    for (std::size_t i = 0; i < n; ++i) {
      p[i] = z[i] + beta * p[i];
    }
  }
  solution.seconds = MPI_Wtime() - begin;

  std::ranges::copy(x, p.begin());
  a.multiply(q);
  std::ranges::transform(b, q, r.begin(), std::minus<>());
  solution.true_residual = std::sqrt(a.dot(r, r)) / norm_b;
  return solution;
}

} // namespace

Solution solve(const Matrix& a, const Blocks& blocks, const Criterion& criterion) {
  Serial serial(a, blocks);
  return conjugate_gradients(serial, criterion);
}

Solution solve(const DistributedMatrix& a, Halo& halo, const Criterion& criterion, MPI_Comm comm) {
  Parallel parallel(a, halo, comm);
  return conjugate_gradients(parallel, criterion);
}

} // namespace conjugate_gradient
