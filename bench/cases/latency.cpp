// SPDX-License-Identifier: BSD-3-Clause
// latency: Start and Wait back to back, with nothing to overlap, against the blocking call. It shows what stoker costs
// where it cannot help. MPI's own persistent call is measured, too, if the library has one.
#include "bench/lib/benchmark.hpp"
#include "bench/lib/points.hpp"

namespace stoker::bench {

namespace {

class Latency final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "latency"; }
  [[nodiscard]] std::string description() const override {
    return "Start+Wait against the blocking MPI call and MPI's persistent one";
  }

  void add_options(CLI::App& app) override {
    points_.bytes = {8, 64, 256, 1U << 10U, 4U << 10U, 16U << 10U, 64U << 10U, 256U << 10U, 1U << 20U, 2U << 20U};
    points_.add_to(app);
  }

  void run(Session& session) override {
    for_each_point(session, points_,
                   {"collective", "bytes", "executor", "algorithm", "iterations", "median_us", "mad_us", "min_us",
                    "max_us", "ratio", "init_us", "break_even"},
                   [&](Point& point) { run_point(session, point); });
  }

private:
  void run_point(Session& session, Point& point) const {
    std::vector<Operation*> operations = {point.add([&] { return mpi_blocking(point.exchange()); })};
    if (Operation* persistent = point.add([&] { return mpi_persistent(point.exchange()); })) {
      operations.push_back(persistent);
    }
    for (Operation* operation : point.add_stoker()) {
      operations.push_back(operation);
    }
    Row common;
    common.benchmark = name();
    compare_runs(session, point, operations, common);
  }

  PointOptions points_;
};

} // namespace

std::unique_ptr<Benchmark> make_latency() { return std::make_unique<Latency>(); }

} // namespace stoker::bench
