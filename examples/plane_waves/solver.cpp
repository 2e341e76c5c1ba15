// SPDX-License-Identifier: BSD-3-Clause
// The pipeline of a filter, and the iteration around it.
#include "solver.hpp"

#include "linear_algebra.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace plane_waves {
namespace {

// A random number of [-1, 1] that depends on nothing but `seed` (splitmix64).
double random(std::uint64_t seed) {
  std::uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  x ^= x >> 31U;
  return std::ldexp(static_cast<double>(x >> 11U), -52) - 1;
}

std::vector<double> along_axis(const Grid& grid, const Problem& problem) {
  std::vector<double> axis;
  for (int i = 0; i < grid.n; ++i) {
    axis.push_back(problem.along_axis(i));
  }
  return axis;
}

} // namespace

Solver::Solver(const Grid& grid, const Problem& problem, const Subspace& subspace, Exchange& exchange)
    : grid_(grid), problem_(problem), subspace_(subspace), exchange_(exchange),
      transforms_(grid, along_axis(grid, problem)) {
  for (int i = 0; i < grid.waves(); ++i) {
    kinetic_.push_back(problem.kinetic(grid.wave_number(i)));
  }
  const auto bands = static_cast<std::size_t>(subspace.bands);
  for (Matrix* matrix : {&current_[0], &current_[1], &spare_, &applied_}) {
    *matrix = aligned_array<Complex>(bands * grid.coefficients());
  }
  rotated_ = aligned_array<Complex>(static_cast<std::size_t>(subspace.block) * grid.coefficients());
  for (int band = 0; band < subspace.bands; ++band) {
    to_real_.push_back(make_transpose());
    to_spectral_.push_back(make_transpose());
  }
  for (int block = 0; first_of(block) < subspace.bands; ++block) {
    const int size = size_of(block);
    products_.push_back(make_sum(2 * product(first_of(block) + size, size)));
  }
  residuals_ = make_sum(bands);
}

Solver::Transpose Solver::make_transpose() {
  Transpose t{.send = exchange_.allocate(grid_.slab()), .recv = exchange_.allocate(grid_.slab()), .number = 0};
  t.number = exchange_.add(t.send, t.recv);
  return t;
}

Solver::Sum Solver::make_sum(std::size_t count) {
  Sum s{.addends = exchange_.allocate(count), .sums = exchange_.allocate(count), .number = 0};
  s.number = exchange_.add_sum(s.addends, s.sums);
  return s;
}

Complex* Solver::column(const Matrix& matrix, int band) const {
  return &matrix[static_cast<std::size_t>(band) * grid_.coefficients()];
}

// Mostly of small wave numbers, as the lowest states are.
void Solver::start_from_random_bands() {
  const auto waves = static_cast<std::size_t>(grid_.waves());
  const auto first_row = product(grid_.rank, grid_.rows());
  const auto rows = static_cast<std::size_t>(grid_.rows_of(grid_.rank));
  for (int band = 0; band < subspace_.bands; ++band) {
    Complex* out = column(current_[0], band);
    for (std::size_t z = 0; z < waves; ++z) {
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t x = 0; x < waves; ++x) {
          const std::size_t y = first_row + row;
          const std::uint64_t seed = 2 * (((static_cast<std::size_t>(band) * waves + z) * waves + y) * waves + x);
          const double damping = 1 + kinetic_[x] + kinetic_[y] + kinetic_[z];
          out[z * grid_.layer() + row * waves + x] = Complex{random(seed), random(seed + 1)} / (damping * damping);
        }
      }
    }
    send_to_real_space(out, band);
  }
}

// Damps the interval from the highest Ritz value to the upper bound of the spectrum, and scales the lowest Ritz vector
// by 1.
void Solver::choose_filter(const std::vector<double>& values) {
  const double half = (problem_.upper_bound() - values.back()) / 2;
  const double centre = (problem_.upper_bound() + values.back()) / 2;
  const double first_sigma = half / (values.front() - centre);
  double sigma = first_sigma;
  first_ = {.scale = sigma / half, .centre = centre, .previous = 0};
  steps_.clear();
  for (int i = 1; i < subspace_.degree; ++i) {
    const double next = 1 / (2 / first_sigma - sigma);
    steps_.push_back({.scale = 2 * next / half, .centre = centre, .previous = sigma * next});
    sigma = next;
  }
}

void Solver::send_to_real_space(const Complex* band, int number) {
  const Transpose& t = to_real_[static_cast<std::size_t>(number)];
  const int waves = grid_.waves();
  const auto cut = product(grid_.cutoff + 1, waves);
  const auto end = product(grid_.n, waves);
  Complex* panel = transforms_.panel();
  for (int row = 0; row < grid_.rows_of(grid_.rank); ++row) {
    const auto offset = product(row, waves);
    std::fill(panel + cut, panel + end, Complex{});
    for (int z = 0; z < waves; ++z) {
      std::copy_n(band + static_cast<std::size_t>(z) * grid_.layer() + offset, waves,
                  panel + grid_.position(z) * waves);
    }
    transforms_.z_backward();
    for (int z = 0; z < grid_.n; ++z) {
      std::copy_n(panel + z * waves, waves, &t.send[static_cast<std::size_t>(z) * grid_.layer() + offset]);
    }
    exchange_.poll();
  }
  exchange_.start(t.number);
}

void Solver::multiply_by_potential(int band) {
  const Transpose& from = to_real_[static_cast<std::size_t>(band)];
  const Transpose& to = to_spectral_[static_cast<std::size_t>(band)];
  exchange_.wait(from.number);
  exchange_.begin("planes");
  for (int plane = 0; plane < grid_.planes_of(grid_.rank); ++plane) {
    transforms_.multiply_plane(from.recv.data(), plane, to.send.data());
    exchange_.poll();
  }
  exchange_.end();
  exchange_.start(to.number);
}

// After the last step H times the band is kept. After the others the next band is, which goes to real space at once.
void Solver::receive_from_real_space(int band, int step) {
  const Transpose& t = to_spectral_[static_cast<std::size_t>(band)];
  const bool last = step == static_cast<int>(steps_.size());
  const Step s = last ? Step{.scale = 1, .centre = 0, .previous = 0} : steps_[static_cast<std::size_t>(step)];
  const Complex* now = column(current_[step % 2], band);
  Complex* next = column(last ? applied_ : current_[(step + 1) % 2], band);
  const auto waves = static_cast<std::size_t>(grid_.waves());
  exchange_.wait(t.number);
  exchange_.begin("rows");
  for (int row = 0; row < grid_.rows_of(grid_.rank); ++row) {
    const std::size_t offset = static_cast<std::size_t>(row) * waves;
    Complex* panel = transforms_.panel();
    for (int z = 0; z < grid_.n; ++z) {
      std::copy_n(&t.recv[static_cast<std::size_t>(z) * grid_.layer() + offset], waves,
                  panel + static_cast<std::size_t>(z) * waves);
    }
    transforms_.z_forward();
    for (std::size_t z = 0; z < waves; ++z) {
      const Complex* potential = panel + static_cast<std::size_t>(grid_.position(static_cast<int>(z))) * waves;
      const double kinetic = kinetic_[z] + kinetic_[product(grid_.rank, grid_.rows()) + static_cast<std::size_t>(row)];
      const std::size_t first = z * grid_.layer() + offset;
      for (std::size_t x = 0; x < waves; ++x) {
        next[first + x] = s.scale * (potential[x] + (kinetic + kinetic_[x] - s.centre) * now[first + x]) -
                          s.previous * next[first + x];
      }
    }
    exchange_.poll();
  }
  if (!last) {
    send_to_real_space(next, band);
  }
  exchange_.end();
}

// Applies the filter's steps and H once more to all bands, whose transposes to real space are under way. Waits for the
// residuals when the pipeline is full; answers false, with nothing under way any more and the Ritz vectors untouched,
// when `enough` says so of them.
bool Solver::run_pipeline(const std::function<bool()>& enough) {
  const int bands = subspace_.bands;
  const int lag = bands / 2; // of a band's rows behind its planes, in bands
  const int last = static_cast<int>(steps_.size());
  for (int i = 0; i < (last + 1) * bands + lag; ++i) {
    if (i == lag && enough()) {
      for (int band = 0; band < bands; ++band) {
        exchange_.wait((band < lag ? to_spectral_ : to_real_)[static_cast<std::size_t>(band)].number);
      }
      return false;
    }
    if (i < (last + 1) * bands) {
      multiply_by_potential(i % bands);
    }
    if (i >= lag) {
      const int band = (i - lag) % bands;
      const int step = (i - lag) / bands;
      receive_from_real_space(band, step);
      if (step == last && ((band + 1) % subspace_.block == 0 || band + 1 == bands)) {
        take_inner_products(band / subspace_.block);
      }
    }
  }
  return true;
}

// Inner products of a block's bands with all before them and among each other, and the same with H.
void Solver::take_inner_products(int block) {
  const Sum& sum = products_[static_cast<std::size_t>(block)];
  const int columns = size_of(block);
  const int rows = first_of(block) + columns;
  const Matrix& filtered = current_[steps_.size() % 2];
  exchange_.begin("inner products");
  Complex* out = sum.addends.data();
  const Matrix* both[] = {&filtered, &applied_};
  for (const Matrix* other : both) {
    inner_products(filtered.get(), rows, column(*other, first_of(block)), columns, grid_.coefficients(), out, rows);
    out += rows * columns;
    exchange_.poll();
  }
  exchange_.end();
  exchange_.start(sum.number);
}

// Ritz values, ascending, and vectors in the filtered bands.
std::vector<double> Solver::solve_projected(std::vector<Complex>& vectors) {
  const int bands = subspace_.bands;
  const auto size = product(bands, bands);
  std::vector<Complex> overlap(size);
  vectors.assign(size, Complex{});
  for (int block = 0; block < static_cast<int>(products_.size()); ++block) {
    const Sum& sum = products_[static_cast<std::size_t>(block)];
    exchange_.wait(sum.number);
    const int rows = first_of(block) + size_of(block);
    const Complex* in = sum.sums.data();
    for (auto* matrix : {&overlap, &vectors}) {
      for (int i = first_of(block); i < rows; ++i, in += rows) {
        std::copy_n(in, rows, &(*matrix)[product(i, bands)]);
      }
    }
  }
  return generalised_eigenvalues(vectors, overlap, bands);
}

// Takes the Ritz vectors of the filtered bands block by block, their residuals and the first step of the filter, whose
// transposes are under way while the next block is computed. Starts the sums of the residuals.
void Solver::rotate(const std::vector<Complex>& vectors, const std::vector<double>& values) {
  const std::size_t length = grid_.coefficients();
  const int bands = subspace_.bands;
  std::swap(current_[0], spare_);
  if (steps_.size() % 2 == 1) {
    std::swap(current_[1], spare_);
  }
  choose_filter(values);
  exchange_.begin("rotation");
  for (int block = 0; block < static_cast<int>(products_.size()); ++block) {
    const int first = first_of(block);
    const Complex* coefficients = &vectors[product(first, bands)];
    combine(spare_.get(), bands, coefficients, size_of(block), length, column(current_[1], first));
    exchange_.poll();
    combine(applied_.get(), bands, coefficients, size_of(block), length, rotated_.get());
    exchange_.poll();
    for (int band = first; band < first + size_of(block); ++band) {
      const double value = values[static_cast<std::size_t>(band)];
      const Complex* vector = column(current_[1], band);
      const Complex* applied = column(rotated_, band - first);
      Complex* next = column(current_[0], band);
      double square = 0;
      for (std::size_t i = 0; i < length; ++i) {
        square += std::norm(applied[i] - value * vector[i]);
        next[i] = first_.scale * (applied[i] - first_.centre * vector[i]);
      }
      residuals_.addends[static_cast<std::size_t>(band)] = square;
      send_to_real_space(next, band);
    }
  }
  exchange_.end();
  exchange_.start(residuals_.number);
}

Solution Solver::solve() {
  Solution solution;
  std::vector<Complex> vectors;
  steps_.clear();
  start_from_random_bands();
  run_pipeline([] { return false; });
  const auto finished = [&] {
    exchange_.wait(residuals_.number);
    solution.residuals.clear();
    for (const Complex& square : residuals_.sums) {
      solution.residuals.push_back(std::sqrt(square.real()));
    }
    const auto end = solution.residuals.begin() + subspace_.states;
    // False for NaN, too.
    return solution.iterations == subspace_.iterations ||
           std::all_of(solution.residuals.begin(), end, [&](double r) { return r <= subspace_.tolerance; });
  };
  while (true) {
    solution.values = solve_projected(vectors);
    rotate(vectors, solution.values);
    if (!run_pipeline(finished)) {
      return solution;
    }
    ++solution.iterations;
  }
}

double Solver::orthogonality_error(MPI_Comm comm) const {
  const int states = subspace_.states;
  std::vector<Complex> products(product(states, states));
  inner_products(current_[1].get(), states, current_[1].get(), states, grid_.coefficients(), products.data(), states);
  MPI_Allreduce(MPI_IN_PLACE, products.data(), 2 * states * states, MPI_DOUBLE, MPI_SUM, comm);
  double error = 0;
  for (int i = 0; i < states; ++i) {
    for (int j = 0; j < states; ++j) {
      const double deviation =
          std::abs(products[product(i, states) + static_cast<std::size_t>(j)] - (i == j ? 1.0 : 0.0));
      error = deviation <= error ? error : deviation;
    }
  }
  return error;
}

} // namespace plane_waves
