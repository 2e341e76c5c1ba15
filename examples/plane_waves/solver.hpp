// SPDX-License-Identifier: BSD-3-Clause
// The lowest eigenstates of -1/2 laplacian + V by Chebyshev-filtered subspace iteration (Zhou, Saad, Tiago, Chelikowsky,
// 2006). An iteration applies a polynomial of H to every band, which damps what lies above the block's highest Ritz
// value, and then takes the Ritz vectors of the filtered block.
//
// H applied to a band is two tasks of computation with a transpose behind each:
//
//   rows      z transform to kz, kinetic part, recurrence of the filter, z transform of the new band; starts its
//             transpose to real space
//   planes    y and x transforms, times V, and back; starts the transpose to spectral space
//
// Bands are independent, so the tasks of all bands and all steps of a filter form one pipeline, which is filled once an
// iteration: between the planes of a band and its rows half of the other bands have their tasks, and so again between
// its rows and its next planes. The pipeline is filled behind the rotation to the Ritz vectors and drained behind the
// inner products of the filtered block, whose sums travel in their turn behind the tasks that are left.
#pragma once

#include "grid.hpp"
#include "problem.hpp"
#include "transforms.hpp"

#include "examples/transposes/exchange.hpp"

#include <functional>
#include <span>
#include <vector>

namespace plane_waves {

struct Subspace {
  int states = 10;         // wanted
  int bands = 16;          // of the block
  int degree = 16;         // of the filter
  int block = 4;           // bands whose inner products are taken at once
  int iterations = 40;     // at most
  double tolerance = 1e-6; // of the residuals |H x - value x| of all states, |x| = 1
};

struct Solution {
  std::vector<double> values;    // of all bands, ascending
  std::vector<double> residuals; // of all bands
  int iterations = 0;
};

class Solver {
public:
  // Collective. The exchange must outlive the solver, which describes its transposes and sums to it.
  Solver(const Grid& grid, const Problem& problem, const Subspace& subspace, Exchange& exchange);

  // From the same random bands every time, whatever the number of ranks. Collective.
  Solution solve();
  // Largest deviation of the inner products of the latest solution's states from those of an orthonormal set. Collective.
  [[nodiscard]] double orthogonality_error(MPI_Comm comm) const;

private:
  struct Transpose {
    std::span<Complex> send;
    std::span<Complex> recv;
    std::size_t number; // of the all-to-all
  };
  struct Sum {
    std::span<Complex> addends;
    std::span<Complex> sums;
    std::size_t number;
  };
  // p(H) x: the next band is scale * (H - centre) band - previous * (band before).
  struct Step {
    double scale;
    double centre;
    double previous;
  };
  using Matrix = AlignedArray<Complex>; // a column of coefficients for each band

  Transpose make_transpose();
  Sum make_sum(std::size_t count);
  [[nodiscard]] Complex* column(const Matrix& matrix, int band) const;
  void start_from_random_bands();
  void choose_filter(const std::vector<double>& values);
  void send_to_real_space(const Complex* band, int number);
  void multiply_by_potential(int band);
  void receive_from_real_space(int band, int step);
  bool run_pipeline(const std::function<bool()>& enough);
  void take_inner_products(int block);
  std::vector<double> solve_projected(std::vector<Complex>& vectors);
  void rotate(const std::vector<Complex>& vectors, const std::vector<double>& values);
  [[nodiscard]] int first_of(int block) const { return block * subspace_.block; }
  [[nodiscard]] int size_of(int block) const { return std::min(subspace_.block, subspace_.bands - first_of(block)); }

  Grid grid_;
  Problem problem_;
  Subspace subspace_;
  Exchange& exchange_;
  Transforms transforms_;
  std::vector<double> kinetic_; // by position of a kept wave number: its share of |k|^2 / 2
  std::vector<Step> steps_;     // of the filter, but the first; then H is applied once more, for the Ritz values
  Step first_{};
  // Step s of the filter reads current_[s % 2] and writes over the other one. Before step 0 the other one holds the Ritz
  // vectors.
  Matrix current_[2];
  Matrix spare_;
  Matrix applied_;                     // H times the filtered bands
  Matrix rotated_;                     // the same for the Ritz vectors of a block
  std::vector<Transpose> to_real_;     // of each band
  std::vector<Transpose> to_spectral_; // of each band
  std::vector<Sum> products_;          // of each block: with all bands up to its last, then the same with H
  Sum residuals_{};                    // squares
};

} // namespace plane_waves
