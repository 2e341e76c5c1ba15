// SPDX-License-Identifier: BSD-3-Clause
// call-cost: the time of single calls of Start, Test and Wait on the calling rank, without the exchange itself, beside
// the calls of MPI's own persistent request. The cost of reading the clock is subtracted from every sample.
//
//   start  awake         another request is active on every rank, so that helpers have something to do
//          back-to-back  right after the previous Wait
//          asleep        after a long computation with nothing active
//   test   active        the exchange cannot complete: a peer has not started it
//          polled        the one that finds it complete, in a loop right after Start
//          complete      the same after a long computation
//   wait   done          after a long computation during which a helper completed the exchange
#include "bench/lib/benchmark.hpp"
#include "bench/lib/kernels.hpp"
#include "bench/lib/points.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <utility>

namespace stoker::bench {

namespace {

using CaseName = std::pair<std::string, std::string>; // call, condition

// A communicator of its own: requests that are started in different orders on different ranks must not meet in one.
class Duplicate {
public:
  explicit Duplicate(MPI_Comm comm) { MPI_Comm_dup(comm, &comm_); }
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;
  ~Duplicate() { MPI_Comm_free(&comm_); }
  [[nodiscard]] MPI_Comm get() const { return comm_; }

private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// One implementation: the request whose calls are timed, and two that are kept from completing by rank 0 and by rank 1.
struct Way {
  Operation* operation = nullptr;
  std::unique_ptr<Operation> held_by_0, held_by_1;
  std::map<CaseName, std::vector<double>> samples;
  std::vector<double> helper_percent; // CPU time of this rank's helpers during a gap
};

class CallCost final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "call-cost"; }
  [[nodiscard]] std::string description() const override { return "single calls of Start, Test and Wait"; }

  void add_options(CLI::App& app) override {
    points_.collectives = {"alltoall"};
    points_.bytes = {8};
    points_.add_to(app);
    app.add_option("--gap-ms", gap_ms_, "computation after which helpers are taken to be asleep")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
  }

  void run(Session& session) override {
    if (session.ranks() < 2) {
      throw std::invalid_argument("call-cost needs at least 2 ranks");
    }
    overhead_us_ = clock_overhead_us();
    gap_units_ = calibrate(session.comm(), gap_, gap_ms_ * 1000);
    for_each_point(session, points_,
                   {"collective", "bytes", "executor", "call", "condition", "iterations", "median_ns", "mad_ns",
                    "min_ns", "max_ns", "helper_cpu_percent", "ratio"},
                   [&](Point& point) { run_point(session, point); });
  }

private:
  void run_point(Session& session, Point& point) {
    const Duplicate comm_0(session.comm());
    const Duplicate comm_1(session.comm());
    Exchange& x = point.exchange();
    Exchange x0(comm_0.get(), x.collective(), *x.bytes(), point.place());
    Exchange x1(comm_1.get(), x.collective(), *x.bytes(), point.place());

    std::vector<Way> ways;
    if (Operation* persistent = point.add([&] { return mpi_persistent(x); })) {
      ways.push_back({persistent, mpi_persistent(x0), mpi_persistent(x1), {}, {}});
    }
    for (Operation* operation : point.add_stoker()) {
      const auto held = [&](Exchange& exchange) {
        return stoker_persistent(exchange, *point.engine(), operation->name(), points_.algorithm);
      };
      ways.push_back({operation, held(x0), held(x1), {}, {}});
    }

    constexpr int rounds = 5;
    const Budget& budget = session.budget();
    const int quick = std::max(1, budget.max_iterations / rounds);
    const int with_gap =
        std::clamp(static_cast<int>(budget.seconds * 1000 / gap_ms_), budget.min_iterations, budget.max_iterations) /
        rounds;
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t turn = 0; turn < ways.size(); ++turn) {
        Way& way = ways[(static_cast<std::size_t>(round) + turn) % ways.size()];
        point.helpers().set(way.operation->needs_helpers());
        MPI_Barrier(session.comm());
        sample_quick(session, way, quick);
        sample_after_gap(way, std::max(1, with_gap));
        sample_helper_cpu(point, way);
      }
    }
    report(session, point, ways);
  }

  template <class Call>
  [[nodiscard]] double timed(Call call, int repetitions = 1) const {
    const auto begin = Clock::now();
    for (int i = 0; i < repetitions; ++i) {
      call();
    }
    return std::max(0.0, microseconds(Clock::now() - begin) - overhead_us_) / repetitions;
  }

  // The call that finds the exchange complete.
  [[nodiscard]] double last_test(Operation& operation) const {
    bool complete = false;
    double last = 0;
    while (!complete) {
      last = timed([&] { complete = operation.test(); });
    }
    return last;
  }

  void sample_quick(Session& session, Way& way, int count) const {
    for (int i = 0; i < count; ++i) {
      way.samples[{"start", "back-to-back"}].push_back(timed([&] { way.operation->start(); }));
      way.operation->wait();
    }
    for (int i = 0; i < count; ++i) {
      way.operation->start();
      way.samples[{"test", "polled"}].push_back(last_test(*way.operation));
    }
    if (session.rank() != 0) {
      way.held_by_0->start();
    }
    if (session.rank() != 1) {
      way.held_by_1->start();
    }
    for (int i = 0; i < count; ++i) {
      way.samples[{"start", "awake"}].push_back(timed([&] { way.operation->start(); }));
      way.operation->wait();
    }
    Operation& active = session.rank() == 0 ? *way.held_by_1 : *way.held_by_0;
    constexpr int tests = 100;
    for (int i = 0; i < count; ++i) {
      way.samples[{"test", "active"}].push_back(timed(
          [&] {
            if (active.test()) {
              throw std::logic_error("an exchange completed although a rank had not started it");
            }
          },
          tests));
    }
    MPI_Barrier(session.comm());
    if (session.rank() == 0) {
      way.held_by_0->start();
    }
    if (session.rank() == 1) {
      way.held_by_1->start();
    }
    way.held_by_0->wait();
    way.held_by_1->wait();
  }

  void sample_after_gap(Way& way, int count) {
    for (int i = 0; i < count; ++i) {
      gap_.run(gap_units_);
      way.samples[{"start", "asleep"}].push_back(timed([&] { way.operation->start(); }));
      way.operation->wait();

      way.operation->start();
      gap_.run(gap_units_);
      way.samples[{"test", "complete"}].push_back(last_test(*way.operation));

      if (way.operation->needs_helpers()) {
        way.operation->start();
        gap_.run(gap_units_);
        way.samples[{"wait", "done"}].push_back(timed([&] { way.operation->wait(); }));
      }
    }
  }

  // Whether "asleep" is true: the CPU time that helpers take during a second gap with nothing active.
  void sample_helper_cpu(Point& point, Way& way) {
    double percent = 0;
    if (way.operation->needs_helpers()) {
      gap_.run(gap_units_);
      const double before = point.engine()->facts().helper_cpu_seconds;
      const auto begin = Clock::now();
      gap_.run(gap_units_);
      percent = (point.engine()->facts().helper_cpu_seconds - before) / microseconds(Clock::now() - begin) * 1e8;
    }
    way.helper_percent.push_back(percent);
  }

  void report(Session& session, Point& point, std::vector<Way>& ways) const {
    std::map<CaseName, double> baseline;
    for (Way& way : ways) {
      const double helper_percent = summarize(slowest_rank(session.comm(), way.helper_percent)).median;
      for (auto& [kind, samples] : way.samples) {
        Row row;
        row.benchmark = name();
        row.collective = name_of(point.exchange().collective());
        row.algorithm = way.operation->algorithm();
        row.executor = way.operation->name();
        row.bytes = point.exchange().bytes();
        row.time = summarize(slowest_rank(session.comm(), std::move(samples)));
        if (way.operation->name() == "mpi-persistent") {
          baseline[kind] = row.time.median;
        }
        if (const auto found = baseline.find(kind); found != baseline.end() && found->second > 0) {
          row.baseline_us = found->second;
          row.baseline = "mpi-persistent";
          row.ratio = row.time.median / found->second;
        }
        row.more["call"] = kind.first;
        row.more["condition"] = kind.second;
        row.more["gap_ms"] = gap_ms_;
        row.more["median_ns"] = row.time.median * 1000;
        row.more["mad_ns"] = row.time.mad * 1000;
        row.more["min_ns"] = row.time.min * 1000;
        row.more["max_ns"] = row.time.max * 1000;
        if (kind.second == "asleep" && way.operation->needs_helpers()) {
          row.more["helper_cpu_percent"] = helper_percent;
        }
        session.report().add(row);
      }
    }
  }

  PointOptions points_;
  double gap_ms_ = 20;
  double overhead_us_ = 0;
  RegisterKernel gap_;
  std::uint64_t gap_units_ = 0;
};

} // namespace

std::unique_ptr<Benchmark> make_call_cost() { return std::make_unique<CallCost>(); }

} // namespace stoker::bench
