// SPDX-License-Identifier: BSD-3-Clause
// alltoall: the algorithms of the family against each other and against the MPI library's blocking call, Start and Wait
// back to back.
#include "bench/lib/benchmark.hpp"
#include "bench/lib/points.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>
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
    app.add_flag(
        "--breakdown", breakdown_,
        "also how long a rank that talks to other nodes gathers before its first message to them, exchanges, and "
        "distributes after the last one");
  }

  void run(Session& session) override {
    std::vector<std::string> columns = {"collective", "bytes",  "executor", "algorithm", "iterations", "median_us",
                                        "mad_us",     "min_us", "max_us",   "ratio",     "init_us",    "break_even"};
    if (breakdown_) {
      columns.insert(columns.end(), {"before_us", "between_us", "after_us"});
      points_.settings = {{"inline_times", "1"}};
    }
    for_each_point(session, points_, columns, [&](Point& point) { run_point(session, point); });
  }

private:
  void run_point(Session& session, Point& point) const {
    std::vector<Operation*> operations = {point.add([&] { return mpi_blocking(point.exchange()); })};
    for (const std::string& algorithm : algorithms_) {
      for (Operation* operation : point.add_stoker(algorithm)) {
        operations.push_back(operation);
      }
    }
    Row common;
    common.benchmark = name();
    const std::vector<Row> rows = compare_runs(session, point, operations, common, breakdown_);
    std::map<std::string, std::pair<double, std::string>> best; // by executor
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const std::pair candidate(*rows[i].ratio, *rows[i].algorithm);
      auto& fastest = best.try_emplace(rows[i].executor, candidate).first->second;
      fastest = std::min(fastest, candidate);
    }
    for (const auto& [executor, fastest] : best) {
      session.report().note(fmt::format("{} of {} B, {}: {:.3f} of MPI's time with {}",
                                        name_of(point.exchange().collective()), *point.exchange().bytes(), executor,
                                        fastest.first, fastest.second));
    }
  }

  PointOptions points_;
  bool breakdown_ = false;
  std::vector<std::string> algorithms_ = {
      "nonblocking",  "pairwise",    "bruck-norotation", "radix",          "radix2",
      "hierarchical", "multileader", "node-aware",       "locality-aware", "multileader-node-aware"};
};

} // namespace

std::unique_ptr<Benchmark> make_alltoall() { return std::make_unique<Alltoall>(); }

} // namespace stoker::bench
