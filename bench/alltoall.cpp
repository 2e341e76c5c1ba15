// SPDX-License-Identifier: BSD-3-Clause
// alltoall: the algorithms of the family against each other and against the MPI library's blocking call, Start and Wait back
// to back.
#include "bench/benchmark.hpp"
#include "bench/points.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace stoker::bench {

namespace {

class Alltoall final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "alltoall"; }
  [[nodiscard]] std::string description() const override {
    return "stoker's algorithms against each other and the blocking MPI call";
  }

  void add_options(CLI::App& app) override {
    points_.bytes = {4, 64, 1U << 10U, 16U << 10U, 64U << 10U, 1U << 20U};
    points_.add_to(app);
    app.add_option("--algorithms", algorithms_, "with their parameters, as in radix:r=4; separated by spaces")
        ->capture_default_str();
  }

  void run(Session& session) override {
    for_each_point(session, points_,
                   {"collective", "bytes", "executor", "algorithm", "iterations", "median_us", "mad_us", "min_us",
                    "max_us", "ratio"},
                   [&](Point& point) { run_point(session, point); });
  }

private:
  void run_point(Session& session, Point& point) const {
    std::vector<Operation*> operations = {point.add(mpi_blocking(point.exchange()))};
    for (const std::string& algorithm : algorithms_) {
      for (Operation* operation : point.add_stoker(algorithm)) {
        operations.push_back(operation);
      }
    }
    point.helpers().set(false);
    const double exchange_us = estimate_us(session.comm(), [&] { operations[0]->run(); });
    std::vector<Variant> variants;
    for (Operation* operation : operations) {
      variants.push_back(point.variant(operation, [operation] { operation->run(); }));
    }
    const int batch = batch_for(exchange_us, session.budget());
    const auto times = measure(session.comm(), variants, batch, session.budget());

    std::map<std::string, std::pair<double, std::string>> best; // by executor
    for (std::size_t i = 0; i < operations.size(); ++i) {
      Row row;
      row.benchmark = name();
      row.collective = name_of(point.exchange().collective());
      row.algorithm = operations[i]->algorithm();
      row.executor = operations[i]->name();
      row.bytes = point.exchange().bytes();
      row.time = times[i];
      row.baseline_us = times[0].median;
      row.baseline = operations[0]->name();
      row.ratio = times[i].median / times[0].median;
      row.more["batch"] = batch;
      session.report().add(row);
      if (i > 0) {
        auto& [ratio, algorithm] =
            best.try_emplace(row.executor, std::numeric_limits<double>::infinity(), "").first->second;
        if (*row.ratio < ratio) {
          ratio = *row.ratio;
          algorithm = *row.algorithm;
        }
      }
    }
    for (const auto& [executor, fastest] : best) {
      session.report().note(fmt::format("{} of {} B, {}: {:.3f} of MPI's time with {}",
                                        name_of(point.exchange().collective()), point.exchange().bytes(), executor,
                                        fastest.first, fastest.second));
    }
  }

  PointOptions points_;
  std::vector<std::string> algorithms_ = {
      "nonblocking",  "pairwise",    "bruck-norotation", "radix",          "radix2",
      "hierarchical", "multileader", "node-aware",       "locality-aware", "multileader-node-aware"};
};

} // namespace

std::unique_ptr<Benchmark> make_alltoall() { return std::make_unique<Alltoall>(); }

} // namespace stoker::bench
