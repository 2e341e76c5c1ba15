// SPDX-License-Identifier: BSD-3-Clause
// How everything here is timed. The variants to be compared take turns, in an order shuffled anew each time, so that a
// disturbance by the machine, or by the variant before, affects all of them. Every timed region begins after a barrier.
// An iteration takes as long as on its slowest rank. Reports have order statistics over the iterations.
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <span>
#include <vector>

namespace stoker::bench {

using Clock = std::chrono::steady_clock;

inline double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

struct Summary {
  int iterations = 0;
  double median = 0;
  double mad = 0; // median absolute deviation from the median
  double min = 0;
  double max = 0;
};
// `samples` must not be empty.
Summary summarize(std::vector<double> samples);

// The time between two readings of the clock with nothing between them, in microseconds: the median of many.
double clock_overhead_us();

// Sample i of the result is the largest sample i of any rank. Collective; equally many samples on all ranks.
std::vector<double> slowest_rank(MPI_Comm comm, std::vector<double> samples);

// Rough time of `body` in microseconds, on the slowest rank: best of a few samples. Collective.
double estimate_us(MPI_Comm comm, const std::function<void()>& body);

// One of the variants to be compared. `enter` and `leave` are called outside the timed region.
struct Variant {
  std::function<void()> body;
  std::function<void()> enter = [] {};
  std::function<void()> leave = [] {};
};

struct Budget {
  double seconds = 1; // for all variants of a point together
  int min_iterations = 5;
  int max_iterations = 1000;
  double batch_us = 1000; // least length of a timed region
};

// How many bodies to run back to back between two readings of the clock: so many that the skew of the barrier (tens of
// microseconds between hosts) does not show.
int batch_for(double body_us, const Budget& budget);

// One summary per variant, in microseconds per body. Collective.
std::vector<Summary> measure(MPI_Comm comm, std::span<const Variant> variants, int batch, const Budget& budget);

} // namespace stoker::bench
