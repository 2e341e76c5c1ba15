// SPDX-License-Identifier: BSD-3-Clause
// overlap: a step of an iterative solver: start an exchange, compute for as long as the MPI library's own blocking
// exchange takes, wait. efficiency = max(compute alone, MPI's blocking exchange alone) / step: 1.0 is the physical
// limit, and a slow exchange cannot improve it. The computation is one uninterrupted call, unless --test-us asks for
// MPI_Test in between (mpi-nonblocking-test, the application's own remedy). Ranks that --computing does not name only
// take part in the exchange.
#include "bench/lib/benchmark.hpp"
#include "bench/lib/kernels.hpp"
#include "bench/lib/points.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace stoker::bench {

namespace {

// What ranks compute that do not.
class NoKernel final : public Kernel {
public:
  void run(std::uint64_t /*units*/) override {}
};

class Overlap final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "overlap"; }
  [[nodiscard]] std::string description() const override {
    return "step time with computation as long as the exchange, against MPI's blocking and nonblocking calls";
  }

  void add_options(CLI::App& app) override {
    points_.bytes = {8, 64, 256, 1U << 10U, 4U << 10U, 16U << 10U, 64U << 10U, 256U << 10U, 1U << 20U, 4U << 20U};
    points_.add_to(app);
    app.add_option("--kernel", kernels_, "computations")
        ->delimiter(',')
        ->check(CLI::IsMember({"register", "memory", "device"}))
        ->capture_default_str();
    app.add_option("--memory-bytes", memory_bytes_, "what the memory kernel goes through, per rank")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--test-us", test_us_, "also MPI's nonblocking call with MPI_Test every so many microseconds")
        ->check(CLI::PositiveNumber);
    app.add_option("--computing", computing_, "ranks that compute (all when not given); others only exchange")
        ->delimiter(',')
        ->check(CLI::NonNegativeNumber);
  }

  void run(Session& session) override {
    for (const int rank : computing_) {
      if (rank >= session.ranks()) {
        throw std::invalid_argument(fmt::format("--computing: expected ranks from 0 to {}", session.ranks() - 1));
      }
    }
    std::shared_ptr<Device> device;
    if (std::find(kernels_.begin(), kernels_.end(), "device") != kernels_.end()) {
      device = session.device();
      session.report().note(device != nullptr ? "kernel device: computes on the device"
                                              : "kernel device: there is none, so the ranks' threads sleep");
    }
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (const std::string& kernel : kernels_) {
      kernels.push_back(computes(session.rank()) ? make_kernel(kernel, memory_bytes_, device)
                                                 : std::make_unique<NoKernel>());
    }
    for_each_point(session, points_,
                   {"collective", "bytes", "buffers", "kernel", "executor", "iterations", "compute_us", "pure_us",
                    "overall_us", "mad_us", "efficiency", "ratio"},
                   [&](Point& point) {
                     std::vector<Operation*> operations = {
                         point.add([&] { return mpi_blocking(point.exchange()); }),
                         point.add([&] { return mpi_nonblocking(point.exchange()); })};
                     for (Operation* operation : point.add_stoker()) {
                       operations.push_back(operation);
                     }
                     for (std::size_t i = 0; i < kernels.size(); ++i) {
                       run_point(session, point, operations, *kernels[i], kernels_[i]);
                     }
                   });
    if (impossible_ > 0) {
      session.report().note(
          fmt::format("{} results are above the physical limit: something else ran on this machine while "
                      "the pure times were measured, and none of this table can be relied on",
                      impossible_));
    }
  }

private:
  [[nodiscard]] bool computes(int rank) const {
    return computing_.empty() || std::find(computing_.begin(), computing_.end(), rank) != computing_.end();
  }

  // `operations` begins with MPI's blocking and nonblocking one.
  void run_point(Session& session, Point& point, std::vector<Operation*> operations, Kernel& kernel,
                 const std::string& kernel_name) {
    Operation* const blocking = operations[0];
    Operation* const nonblocking = operations[1];
    point.helpers().set(false);
    const double exchange_us = estimate_us(session.comm(), [&] { blocking->run(); });
    const std::uint64_t units = calibrate(session.comm(), kernel, exchange_us);

    // The two pure times first, then the steps, in the order of `operations`.
    std::vector<Variant> variants = {point.variant(nullptr, [&] { kernel.run(units); }),
                                     point.variant(blocking, [&] { blocking->run(); })};
    for (Operation* operation : operations) {
      variants.push_back(point.variant(operation, [&kernel, operation, units] {
        operation->start();
        kernel.run(units);
        operation->wait();
      }));
    }
    std::vector<std::string> names;
    for (const Operation* operation : operations) {
      names.push_back(operation->name());
    }
    if (test_us_ > 0) {
      const auto slices = static_cast<std::uint64_t>(std::max(1.0, exchange_us / test_us_));
      names.emplace_back("mpi-nonblocking-test");
      operations.push_back(nonblocking);
      variants.push_back(point.variant(
          nonblocking, [&kernel, nonblocking, units, slices] { run_in_slices(*nonblocking, kernel, units, slices); }));
    }

    const int batch = batch_for(2 * exchange_us, session.budget());
    const auto times = measure(session.comm(), variants, batch, session.budget());
    report(session, point, kernel_name, batch, operations, names, times);
  }

  static void run_in_slices(Operation& operation, Kernel& kernel, std::uint64_t units, std::uint64_t slices) {
    operation.start();
    bool done = false;
    for (std::uint64_t slice = 0; slice < slices; ++slice) {
      kernel.run(units * (slice + 1) / slices - units * slice / slices);
      done = done || operation.test();
    }
    if (!done) {
      operation.wait();
    }
  }

  void report(Session& session, Point& point, const std::string& kernel_name, int batch,
              const std::vector<Operation*>& operations, const std::vector<std::string>& names,
              const std::vector<Summary>& times) {
    const double compute_us = times[0].median;
    const double pure_us = times[1].median;
    const std::size_t first = 2; // of the steps
    std::size_t best = 0;
    for (std::size_t i = 1; i < operations.size(); ++i) {
      if (operations[i]->algorithm() == "mpi" && times[first + i].median < times[first + best].median) {
        best = i;
      }
    }
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Summary& time = times[first + i];
      Row row;
      row.benchmark = name();
      row.collective = name_of(point.exchange().collective());
      row.algorithm = operations[i]->algorithm();
      row.executor = names[i];
      row.bytes = point.exchange().bytes();
      row.time = time;
      row.overall_us = time.median;
      row.compute_us = compute_us;
      row.efficiency = std::max(compute_us, pure_us) / time.median;
      row.baseline_us = times[first + best].median;
      row.baseline = "best MPI step: " + names[best];
      row.ratio = time.median / times[first + best].median;
      row.init_us = point.init_us(operations[i]);
      row.more["pure_us"] = pure_us;
      row.more["pure_mad_us"] = times[1].mad;
      row.more["compute_mad_us"] = times[0].mad;
      row.more["kernel"] = kernel_name;
      row.more["batch"] = batch;
      if (!computing_.empty()) {
        row.more["computing"] = computing_;
      }
      if (kernel_name == "memory") {
        row.more["memory_bytes"] = memory_bytes_;
      }
      session.report().add(row);
      impossible_ += *row.efficiency > 1.05 ? 1 : 0;
    }
  }

  PointOptions points_;
  std::vector<std::string> kernels_ = {"register", "memory"};
  std::size_t memory_bytes_ = std::size_t{192} << 20U;
  double test_us_ = 0;
  std::vector<int> computing_; // ranks; empty: all
  int impossible_ = 0;         // results whose efficiency no step can have
};

} // namespace

std::unique_ptr<Benchmark> make_overlap() { return std::make_unique<Overlap>(); }

} // namespace stoker::bench
