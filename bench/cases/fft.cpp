// SPDX-License-Identifier: BSD-3-Clause
// fft: a one-dimensional distributed FFT, with transposes by MPI's all-to-all and by the algorithms of the family. It
// reports the whole time, and the part that the transposes take.
#include "bench/lib/benchmark.hpp"
#include "bench/lib/distributed_fft.hpp"
#include "bench/lib/points.hpp"

#include <vector>

namespace stoker::bench {

namespace {

class Fft final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "fft"; }
  [[nodiscard]] std::string description() const override {
    return "a distributed FFT with its transposes by MPI's and by stoker's all-to-alls";
  }

  void add_options(CLI::App& app) override {
    app.add_option("--points", points_, "complex numbers for each pair of ranks, powers of two")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--algorithms", algorithms_, "with their parameters, as in radix:r=4; separated by spaces")
        ->capture_default_str();
    exchanges_.collectives = {"alltoall"};
    exchanges_.executors = {"inline"};
    app.add_option("--executors", exchanges_.executors, "stoker's executors to measure")
        ->delimiter(',')
        ->check(CLI::IsMember({"engine", "inline"}))
        ->capture_default_str();
  }

  void run(Session& session) override {
    exchanges_.bytes.clear();
    for (const std::uint64_t points : points_) {
      exchanges_.bytes.push_back(points * sizeof(Complex));
    }
    for_each_point(session, exchanges_,
                   {"numbers", "bytes", "executor", "algorithm", "iterations", "median_us", "mad_us", "transposes_us",
                    "ratio", "init_us", "break_even"},
                   [&](Point& point) { run_point(session, point); });
  }

private:
  void run_point(Session& session, Point& point) const {
    std::vector<Operation*> operations = {point.add([&] { return mpi_blocking(point.exchange()); })};
    for (const std::string& algorithm : algorithms_) {
      for (Operation* operation : point.add_stoker(algorithm)) {
        operations.push_back(operation);
      }
    }
    DistributedFft fft(point.exchange(), *point.exchange().bytes() / sizeof(Complex));
    std::vector<std::vector<double>> transposes(operations.size());
    std::vector<Variant> variants;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      point.helpers().set(operations[i]->needs_helpers());
      validate(fft, *operations[i], session.rank(), session.ranks());
      variants.push_back(
          point.variant(operations[i], [&, i] { transposes[i].push_back(1e6 * fft.run(*operations[i])); }));
    }
    point.helpers().set(false);
    const auto times = measure(session.comm(), variants, 1, session.budget());
    for (std::size_t i = 0; i < operations.size(); ++i) {
      auto& samples = transposes[i];
      samples.erase(samples.begin(), samples.end() - times[i].iterations); // what measure() ran to warm up
      Row row;
      row.benchmark = name();
      row.collective = name_of(point.exchange().collective());
      row.algorithm = operations[i]->algorithm();
      row.executor = operations[i]->name();
      row.bytes = point.exchange().bytes();
      row.time = times[i];
      row.overall_us = times[i].median;
      row.baseline_us = times[0].median;
      row.baseline = operations[0]->name();
      row.ratio = times[i].median / times[0].median;
      row.init_us = point.init_us(operations[i]);
      row.more["numbers"] = fft.size();
      row.more["transposes_us"] = summarize(slowest_rank(session.comm(), samples)).median;
      session.report().add(row);
    }
  }

  PointOptions exchanges_;
  std::vector<std::uint64_t> points_ = {1, 64, 1024};
  std::vector<std::string> algorithms_ = {"nonblocking", "radix", "radix2", "hierarchical", "node-aware"};
};

} // namespace

std::unique_ptr<Benchmark> make_fft() { return std::make_unique<Fft>(); }

} // namespace stoker::bench
