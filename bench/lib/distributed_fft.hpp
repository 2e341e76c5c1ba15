// SPDX-License-Identifier: BSD-3-Clause
// A one-dimensional FFT distributed over ranks by the six-step method: three transposes, each an all-to-all of equal
// blocks, with local FFTs and one multiplication by twiddle factors between them (Bailey, "FFTs in external or
// hierarchical memory", 1990; the application of Fan et al., "Configurable Algorithms for All-to-All Collectives",
// 2024, section VI).
#pragma once

#include "bench/lib/operation.hpp"

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct fftw_plan_s;

namespace stoker::bench {

using Complex = std::complex<double>;

class DistributedFft {
public:
  // N = ranks^2 * points complex numbers, of which every rank holds N / ranks in natural order, before and after. The
  // exchange has blocks of `points` numbers for each pair of ranks. `points` is a power of two.
  DistributedFft(Exchange& exchange, std::uint64_t points);
  DistributedFft(const DistributedFft&) = delete;
  DistributedFft& operator=(const DistributedFft&) = delete;
  ~DistributedFft();

  [[nodiscard]] std::uint64_t size() const { return rows_ * columns_; }
  [[nodiscard]] std::span<Complex> data() { return data_; }
  // Transforms data() forward. Collective. Returns the seconds that its three exchanges took.
  double run(Operation& operation);

private:
  // The local part of a matrix of local_rows x width becomes that of its transpose, of width / ranks x height.
  double transpose(Operation& operation, std::uint64_t local_rows, std::uint64_t width);

  Exchange& exchange_;
  std::uint64_t ranks_;
  std::uint64_t rank_;
  std::uint64_t rows_; // of the matrix that holds the numbers row by row
  std::uint64_t columns_;
  std::vector<Complex> data_;
  std::vector<Complex> twiddles_;
  struct PlanDeleter {
    void operator()(fftw_plan_s* plan) const;
  };
  std::unique_ptr<fftw_plan_s, PlanDeleter> down_, across_; // of length rows_, of length columns_
};

// Throws when a transform of waves whose spectrum is known is wrong.
void validate(DistributedFft& fft, Operation& operation, int rank, int ranks);

} // namespace stoker::bench
