// SPDX-License-Identifier: BSD-3-Clause
// allreduce, reduce (sums of doubles) and bcast: stoker's persistent requests, Start and Wait back to back, against the
// fastest of the MPI library's calls: blocking, nonblocking and persistent.
#include "bench/lib/benchmark.hpp"
#include "bench/lib/points.hpp"

namespace stoker::bench {

namespace {

class Reduction final : public Benchmark {
public:
  explicit Reduction(Collective collective) : collective_(name_of(collective)) {}

  [[nodiscard]] std::string name() const override { return collective_; }
  [[nodiscard]] std::string description() const override {
    return "persistent " + collective_ + " against the fastest of MPI's blocking, nonblocking and persistent calls";
  }

  void add_options(CLI::App& app) override {
    points_.collectives = {collective_};
    points_.bytes = {8,          64,          512,       1U << 10U, 4U << 10U, 32U << 10U,
                     64U << 10U, 256U << 10U, 1U << 20U, 4U << 20U, 8U << 20U};
    points_.executors = {"inline", "engine"};
    points_.buffers = {"mapped", "heap"};
    points_.add_bytes_to(app, "sizes of the vector");
    app.add_option("--algorithms", algorithms_,
                   "with their parameters, as in \"recursive-exchange:factors=-4 -2 2 4\"; auto: stoker's own choice")
        ->capture_default_str();
    points_.add_ways_to(app);
  }

  void run(Session& session) override {
    for_each_point(session, points_,
                   {"bytes", "buffers", "executor", "algorithm", "iterations", "median_us", "mad_us", "min_us",
                    "max_us", "ratio", "init_us", "break_even"},
                   [&](Point& point) { run_point(session, point); });
  }

private:
  void run_point(Session& session, Point& point) const {
    const Exchange& exchange = point.exchange();
    std::vector<Operation*> operations = {point.add([&] { return mpi_blocking(exchange); }),
                                          point.add([&] { return mpi_nonblocking(exchange); })};
    if (Operation* persistent = point.add([&] { return mpi_persistent(exchange); })) {
      operations.push_back(persistent);
    }
    for (const std::string& algorithm : algorithms_) {
      for (Operation* operation : point.add_stoker(algorithm)) {
        operations.push_back(operation);
      }
    }
    Row common;
    common.benchmark = name();
    compare_runs(session, point, operations, common, false, Baseline::fastest_mpi);
  }

  std::string collective_;
  PointOptions points_;
  std::vector<std::string> algorithms_ = {"auto"};
};

} // namespace

std::unique_ptr<Benchmark> make_allreduce() { return std::make_unique<Reduction>(Collective::allreduce); }
std::unique_ptr<Benchmark> make_reduce() { return std::make_unique<Reduction>(Collective::reduce); }
std::unique_ptr<Benchmark> make_bcast() { return std::make_unique<Reduction>(Collective::bcast); }

} // namespace stoker::bench
