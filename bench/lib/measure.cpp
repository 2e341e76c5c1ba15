// SPDX-License-Identifier: BSD-3-Clause
// Timing: see measure.hpp.
#include "bench/lib/measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <utility>

namespace stoker::bench {

namespace {

constexpr int warm_up_rounds = 2;
constexpr int max_batch = 1000;

double median_of(std::vector<double>& samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(samples.begin(), middle)) / 2;
}

double slowest_rank(MPI_Comm comm, double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm);
  return value;
}

// Time of one body in microseconds, on this rank.
double timed(MPI_Comm comm, const Variant& variant, int batch) {
  variant.enter();
  MPI_Barrier(comm);
  const auto begin = Clock::now();
  for (int i = 0; i < batch; ++i) {
    variant.body();
  }
  const double time = microseconds(Clock::now() - begin);
  variant.leave();
  return time / batch;
}

} // namespace

Summary summarize(std::vector<double> samples) {
  Summary summary;
  summary.iterations = static_cast<int>(samples.size());
  const auto [min, max] = std::minmax_element(samples.begin(), samples.end());
  summary.min = *min;
  summary.max = *max;
  summary.median = median_of(samples);
  for (double& sample : samples) {
    sample = std::abs(sample - summary.median);
  }
  summary.mad = median_of(samples);
  return summary;
}

double clock_overhead_us() {
  std::vector<double> samples(1001);
  for (double& sample : samples) {
    const auto begin = Clock::now();
    sample = microseconds(Clock::now() - begin);
  }
  return median_of(samples);
}

std::vector<double> slowest_rank(MPI_Comm comm, std::vector<double> samples) {
  MPI_Allreduce(MPI_IN_PLACE, samples.data(), static_cast<int>(samples.size()), MPI_DOUBLE, MPI_MAX, comm);
  return samples;
}

double estimate_us(MPI_Comm comm, const std::function<void()>& body) {
  constexpr double readable_us = 200;
  constexpr double enough_us = 500e3; // on a machine so busy that single samples are long
  constexpr int samples = 5;
  const Variant variant{body};
  body();
  int repetitions = 1;
  double best = 0;
  while ((best = slowest_rank(comm, timed(comm, variant, repetitions))) * repetitions < readable_us) {
    repetitions *= 4;
  }
  double spent = best * repetitions;
  for (int i = 1; i < samples && spent < enough_us; ++i) {
    const double time = slowest_rank(comm, timed(comm, variant, repetitions));
    spent += time * repetitions;
    best = std::min(best, time); // disturbances only ever add
  }
  return best;
}

int batch_for(double body_us, const Budget& budget) {
  return static_cast<int>(std::clamp(std::ceil(budget.batch_us / body_us), 1.0, static_cast<double>(max_batch)));
}

std::vector<Summary> measure(MPI_Comm comm, std::span<const Variant> variants, int batch, const Budget& budget) {
  MPI_Barrier(comm);
  const auto begin = Clock::now();
  for (int round = 0; round < warm_up_rounds; ++round) {
    for (const Variant& variant : variants) {
      (void)timed(comm, variant, batch);
    }
  }
  const double round_us = slowest_rank(comm, microseconds(Clock::now() - begin)) / warm_up_rounds;
  const int iterations =
      static_cast<int>(std::clamp(budget.seconds * 1e6 / round_us, static_cast<double>(budget.min_iterations),
                                  static_cast<double>(budget.max_iterations)));

  std::vector<std::vector<double>> samples(variants.size());
  std::vector<std::size_t> order(variants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1); // seeded: the same order on all ranks
  for (int iteration = 0; iteration < iterations; ++iteration) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t which : order) {
      samples[which].push_back(timed(comm, variants[which], batch));
    }
  }
  std::vector<Summary> summaries;
  for (auto& own : samples) {
    summaries.push_back(summarize(slowest_rank(comm, std::move(own))));
  }
  return summaries;
}

} // namespace stoker::bench
