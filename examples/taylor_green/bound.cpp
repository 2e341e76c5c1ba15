// SPDX-License-Identifier: BSD-3-Clause
#include "bound.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <span>
#include <vector>

namespace taylor_green {
namespace {

// Takes no time, and moves nothing.
class NoExchange : public Exchange {
public:
  std::span<Complex> allocate(std::size_t count) override {
    arrays_.push_back(aligned_array<Complex>(count));
    return {arrays_.back().get(), count};
  }
  std::size_t add(std::span<const Complex> /*send*/, std::span<Complex> /*recv*/) override { return 0; }
  std::size_t add_sum(std::span<const Complex> /*addends*/, std::span<Complex> /*sums*/) override { return 0; }

protected:
  void do_start(std::size_t /*i*/) override {}
  void do_wait(std::size_t /*i*/) override {}

private:
  std::vector<AlignedArray<Complex>> arrays_;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The processor time of every task: the least of some steps, on the slowest rank.
std::vector<double> task_seconds(Solver& solver, MPI_Comm comm) {
  constexpr int steps = 5;
  const std::vector<Task> tasks = solver.tasks();
  std::vector<double> seconds(tasks.size(), std::numeric_limits<double>::infinity());
  for (int step = 0; step < steps; ++step) {
    MPI_Barrier(comm);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const double before = processor_seconds();
      solver.run(tasks[i]);
      seconds[i] = std::min(seconds[i], processor_seconds() - before);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX, comm);
  return seconds;
}

} // namespace

Bound bound_of(const Case& setup, int chunks, int nodes, double rate, MPI_Comm comm) {
  int ranks = 1;
  int rank = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  const Grid grid{.n = setup.n, .ranks = ranks, .rank = rank, .chunks = chunks};
  NoExchange exchange;
  Solver solver(grid, setup.nu, setup.dt, setup.statistics, exchange);
  const std::vector<Task> tasks = solver.tasks();
  const std::vector<double> seconds = task_seconds(solver, comm);

  Bound bound{.chunks = chunks};
  // All ranks do the same at the same time, so that a tile has arrived when its own has been sent.
  double now = 0;
  double sent = 0;
  std::vector<double> planes_arrive(static_cast<std::size_t>(chunks));
  std::vector<double> rows_arrive(static_cast<std::size_t>(chunks));
  const auto send = [&](int components, int plane_chunk, int row_chunk) {
    const int here = ranks / nodes;
    const double blocks = static_cast<double>(here) * (ranks - here);
    const double duration =
        blocks * sizeof(Complex) * static_cast<double>(tile_block(grid, components, plane_chunk, row_chunk)) / rate;
    sent = std::max(sent, now) + duration;
    bound.wire += duration;
    return sent;
  };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    const auto chunk = static_cast<std::size_t>(task.chunk);
    const bool planes = task.kind == Task::Kind::planes;
    if (task.receives()) {
      now = std::max(now, planes ? planes_arrive[chunk] : rows_arrive[chunk]);
    }
    now += seconds[i];
    bound.computation += seconds[i];
    for (int other = 0; task.sends() && other < chunks; ++other) {
      if (planes) {
        rows_arrive[static_cast<std::size_t>(other)] = send(3, task.chunk, other);
      } else {
        planes_arrive[static_cast<std::size_t>(other)] = send(6, other, task.chunk);
      }
    }
  }
  bound.time_line = now;
  return bound;
}

} // namespace taylor_green
