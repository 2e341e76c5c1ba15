// SPDX-License-Identifier: BSD-3-Clause
// A distributed FFT: see distributed_fft.hpp.
#include "bench/lib/distributed_fft.hpp"

#include "bench/lib/measure.hpp"

#include <fftw3.h>
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numbers>
#include <stdexcept>

namespace stoker::bench {

namespace {

// exp(sign * 2 pi i numerator / denominator), exact in its argument for large products.
Complex root(std::uint64_t numerator, std::uint64_t denominator, double sign) {
  const double angle =
      2 * std::numbers::pi * static_cast<double>(numerator % denominator) / static_cast<double>(denominator);
  return {std::cos(angle), sign * std::sin(angle)};
}

std::span<Complex> numbers(std::span<std::byte> bytes) {
  return {reinterpret_cast<Complex*>(bytes.data()), bytes.size() / sizeof(Complex)};
}

fftw_plan_s* plan(std::uint64_t length, std::uint64_t howmany, std::vector<Complex>& data) {
  const int n = static_cast<int>(length);
  auto* numbers = reinterpret_cast<fftw_complex*>(data.data());
  return fftw_plan_many_dft(1, &n, static_cast<int>(howmany), numbers, nullptr, 1, n, numbers, nullptr, 1, n,
                            FFTW_FORWARD, FFTW_ESTIMATE);
}

} // namespace

void DistributedFft::PlanDeleter::operator()(fftw_plan_s* plan) const { fftw_destroy_plan(plan); }

DistributedFft::DistributedFft(Exchange& exchange, std::uint64_t points)
    : exchange_(exchange), ranks_(static_cast<std::uint64_t>(exchange.ranks())) {
  if (!std::has_single_bit(points) || exchange.bytes() != points * sizeof(Complex)) {
    throw std::invalid_argument(fmt::format("a block of {} numbers for each pair: expected a power of two", points));
  }
  int rank = 0;
  MPI_Comm_rank(exchange.comm(), &rank);
  rank_ = static_cast<std::uint64_t>(rank);
  const auto bits = static_cast<unsigned>(std::countr_zero(points));
  rows_ = ranks_ << (bits / 2);
  columns_ = ranks_ << (bits - (bits / 2));
  data_.resize(rows_ * columns_ / ranks_);
  down_.reset(plan(rows_, columns_ / ranks_, data_));
  across_.reset(plan(columns_, rows_ / ranks_, data_));
  const std::uint64_t local = columns_ / ranks_;
  twiddles_.resize(local * rows_);
  for (std::uint64_t c = 0; c < local; ++c) {
    for (std::uint64_t k = 0; k < rows_; ++k) {
      twiddles_[(c * rows_) + k] = root(((rank_ * local) + c) * k, size(), -1);
    }
  }
}

DistributedFft::~DistributedFft() = default;

// X[k + rows * l] = sum over c of w_columns^(c l) w_size^(c k) sum over r of w_rows^(r k) x[r * columns + c].
double DistributedFft::run(Operation& operation) {
  const std::uint64_t local_rows = rows_ / ranks_;
  const std::uint64_t local_columns = columns_ / ranks_;
  double seconds = transpose(operation, local_rows, columns_);
  fftw_execute(down_.get());
  std::transform(data_.begin(), data_.end(), twiddles_.begin(), data_.begin(), std::multiplies<>());
  seconds += transpose(operation, local_columns, rows_);
  fftw_execute(across_.get());
  seconds += transpose(operation, local_rows, columns_);
  return seconds;
}

double DistributedFft::transpose(Operation& operation, std::uint64_t local_rows, std::uint64_t width) {
  const std::uint64_t part = width / ranks_; // columns for each rank, which become its rows
  const std::span<Complex> send = numbers(exchange_.send());
  const std::span<Complex> recv = numbers(exchange_.recv());
  for (std::uint64_t r = 0; r < local_rows; ++r) {
    for (std::uint64_t c = 0; c < width; ++c) {
      send[(c * local_rows) + r] = data_[(r * width) + c]; // block c / part, in it row c % part
    }
  }
  const auto begin = Clock::now();
  operation.run();
  const double seconds = 1e-6 * microseconds(Clock::now() - begin);
  const std::uint64_t height = local_rows * ranks_;
  for (std::uint64_t source = 0; source < ranks_; ++source) {
    for (std::uint64_t c = 0; c < part; ++c) {
      std::copy_n(&recv[((source * part) + c) * local_rows], local_rows, &data_[(c * height) + (source * local_rows)]);
    }
  }
  return seconds;
}

void validate(DistributedFft& fft, Operation& operation, int rank, int ranks) {
  const std::uint64_t n = fft.size();
  const std::uint64_t local = n / static_cast<std::uint64_t>(ranks);
  const std::uint64_t first = static_cast<std::uint64_t>(rank) * local;
  const std::uint64_t waves[] = {1 % n, n / 3, n - 1};
  for (std::uint64_t i = 0; i < local; ++i) {
    fft.data()[i] = {};
    for (const std::uint64_t wave : waves) {
      fft.data()[i] += root((first + i) * wave, n, 1);
    }
  }
  fft.run(operation);
  for (std::uint64_t i = 0; i < local; ++i) {
    const double expected =
        static_cast<double>(n) * static_cast<double>(std::count(std::begin(waves), std::end(waves), first + i));
    if (std::abs(fft.data()[i] - expected) > 1e-9 * static_cast<double>(n)) {
      throw std::runtime_error(
          fmt::format("rank {}: {}: the FFT of {} numbers is wrong at {}", rank, operation.name(), n, first + i));
    }
  }
}

} // namespace stoker::bench
