// SPDX-License-Identifier: BSD-3-Clause
// The pipelined and the classic iteration.
#include "methods.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace conjugate_gradient {
namespace {

using Vector = std::vector<double>;

// A x = b, preconditioned by a diagonal.
class System {
public:
  System(const DistributedMatrix& a, Halo& halo, bool jacobi, MPI_Comm comm)
      : a_(a), halo_(halo), comm_(comm), inverse_diagonal_(size(), 1.0), b_(size()) {
    if (jacobi) {
      std::ranges::transform(a.diagonal(), inverse_diagonal_.begin(), [](double d) { return 1 / d; });
    }
    std::ranges::fill(operand(), 1.0);
    multiply(b_);
    norm_b_ = norm(b_);
  }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(a_.own_rows()); }
  [[nodiscard]] const Vector& inverse_diagonal() const { return inverse_diagonal_; }
  [[nodiscard]] const Vector& b() const { return b_; }
  [[nodiscard]] double norm_b() const { return norm_b_; }

  // The vector that multiply() multiplies the matrix with.
  [[nodiscard]] std::span<double> operand() { return halo_.vector().first(size()); }
  void multiply(std::span<double> y) { a_.multiply(halo_, y); }

  [[nodiscard]] double true_residual(const Vector& x) {
    std::ranges::copy(x, operand().begin());
    Vector r(size());
    multiply(r);
    std::ranges::transform(b_, r, r.begin(), std::minus<>());
    return norm(r) / norm_b_;
  }

private:
  [[nodiscard]] double norm(const Vector& v) const {
    double squares = 0;
    for (const double value : v) {
      squares += value * value;
    }
    MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, comm_);
    return std::sqrt(squares);
  }

  const DistributedMatrix& a_;
  Halo& halo_;
  MPI_Comm comm_;
  Vector inverse_diagonal_;
  Vector b_;
  double norm_b_ = 0;
};

// Keeps the history of a solve.
class Record {
public:
  Record(const Criterion& criterion, double norm_b) : criterion_(criterion), norm_b_(norm_b) {}

  // The square of the residual's norm; answers whether it was the last.
  bool finished(double square) {
    const double now = MPI_Wtime();
    if (!history_.residuals.empty()) {
      history_.seconds.push_back(now - last_);
    }
    last_ = now;
    history_.residuals.push_back(std::sqrt(square) / norm_b_);
    history_.converged = iteration() > 0 && history_.residuals.back() <= criterion_.tolerance;
    return history_.converged || iteration() == criterion_.iterations;
  }
  [[nodiscard]] int iteration() const { return static_cast<int>(history_.residuals.size()) - 1; }
  // Length of the step, from p'Ap.
  [[nodiscard]] double step(double gamma, double curvature) const {
    if (!(curvature > 0)) {
      throw InputError(
          fmt::format("the matrix is not positive definite, or the tolerance is beyond what rounding errors "
                      "allow: p'Ap = {} in iteration {}, at residual {:.1e}",
                      curvature, iteration() + 1, history_.residuals.back()));
    }
    return gamma / curvature;
  }
  [[nodiscard]] History take() { return std::move(history_); }

private:
  const Criterion& criterion_;
  double norm_b_;
  double last_ = 0;
  History history_;
};

void start(Reduction& reduction, std::initializer_list<double> addends) {
  std::ranges::copy(addends, reduction.addends().begin());
  reduction.start();
}

History pipelined(System& system, Reduction& reduction, const Criterion& criterion) {
  const std::size_t n = system.size();
  const Vector& inverse = system.inverse_diagonal();
  const std::span<double> m = system.operand(); // M^-1 w, the next to be multiplied
  Vector x(n), r = system.b(), w(n), z(n), s(n), p(n), am(n);
  // M is diagonal: u = M^-1 r and q = M^-1 s need no recurrences of their own.
  std::ranges::transform(inverse, r, m.begin(), std::multiplies<>());
  system.multiply(w); // A u

  double rr = 0, ru = 0, wu = 0; // of this rank
  const auto add = [&](std::size_t i) {
    const double u = inverse[i] * r[i];
    rr += r[i] * r[i];
    ru += r[i] * u;
    wu += w[i] * u;
    m[i] = inverse[i] * w[i];
  };
  for (std::size_t i = 0; i < n; ++i) {
    add(i);
  }
  Record record(criterion, system.norm_b());
  double gamma = 0;
  double alpha = 0;
  while (true) {
    start(reduction, {rr, ru, wu});
    system.multiply(am);
    reduction.wait();
    if (record.finished(reduction.sums()[0])) {
      break;
    }
    const bool first = record.iteration() == 0;
    const double last_gamma = std::exchange(gamma, reduction.sums()[1]);
    const double beta = first ? 0 : gamma / last_gamma;
    alpha = record.step(gamma, reduction.sums()[2] - (first ? 0 : beta * gamma / alpha));
    rr = ru = wu = 0;
    for (std::size_t i = 0; i < n; ++i) {
      p[i] = (inverse[i] * r[i]) + (beta * p[i]);
      s[i] = w[i] + (beta * s[i]);
      z[i] = am[i] + (beta * z[i]);
      x[i] += alpha * p[i];
      r[i] -= alpha * s[i];
      w[i] -= alpha * z[i];
      add(i);
    }
  }
  History history = record.take();
  history.true_residual = system.true_residual(x);
  return history;
}

History classic(System& system, Reduction& one, Reduction& two, const Criterion& criterion) {
  const std::size_t n = system.size();
  const Vector& inverse = system.inverse_diagonal();
  const std::span<double> p = system.operand();
  Vector x(n), r = system.b(), ap(n);

  const auto sums_over_ranks = [](Reduction& reduction, std::initializer_list<double> addends) {
    start(reduction, addends);
    reduction.wait();
    return reduction.sums();
  };
  double rr = 0, rz = 0; // of this rank
  for (std::size_t i = 0; i < n; ++i) {
    p[i] = inverse[i] * r[i];
    rr += r[i] * r[i];
    rz += r[i] * p[i];
  }
  Record record(criterion, system.norm_b());
  double gamma = 0;
  while (true) {
    const auto sums = sums_over_ranks(two, {rr, rz});
    if (record.finished(sums[0])) {
      break;
    }
    const double last_gamma = std::exchange(gamma, sums[1]);
    if (record.iteration() > 0) {
      const double beta = gamma / last_gamma;
      for (std::size_t i = 0; i < n; ++i) {
        p[i] = (inverse[i] * r[i]) + (beta * p[i]);
      }
    }
    system.multiply(ap);
    double curvature = 0;
    for (std::size_t i = 0; i < n; ++i) {
      curvature += p[i] * ap[i];
    }
    const double alpha = record.step(gamma, sums_over_ranks(one, {curvature})[0]);
    rr = rz = 0;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * ap[i];
      rr += r[i] * r[i];
      rz += r[i] * inverse[i] * r[i];
    }
  }
  History history = record.take();
  history.true_residual = system.true_residual(x);
  return history;
}

} // namespace

const char* name_of(Method method) { return method == Method::pipelined ? "pipelined" : "classic"; }

History solve(Method method, const DistributedMatrix& a, Halo& halo, const MakeReduction& make_reduction,
              const Criterion& criterion, MPI_Comm comm) {
  System system(a, halo, criterion.jacobi, comm);
  History history;
  std::unique_ptr<Reduction> reduction;
  if (method == Method::pipelined) {
    reduction = make_reduction(3);
    history = pipelined(system, *reduction, criterion);
  } else {
    const auto one = make_reduction(1);
    reduction = make_reduction(2);
    history = classic(system, *one, *reduction, criterion);
  }
  history.hidden = reduction->hidden();
  history.executor = reduction->executor();
  return history;
}

} // namespace conjugate_gradient
