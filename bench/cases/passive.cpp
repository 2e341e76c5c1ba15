// SPDX-License-Identifier: BSD-3-Clause
// passive: how long rank 0 waits for a put, a get or an atomic to complete at another rank. That rank waits in an MPI
// barrier in one case, and computes for some milliseconds without any call in the other. The ratio of the two is 1 if
// transfers do not need the target; else it grows with the computation.
#include "bench/lib/benchmark.hpp"
#include "bench/lib/kernels.hpp"
#include "bench/lib/one_sided.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace stoker::bench {

namespace {

class Passive final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "passive"; }
  [[nodiscard]] std::string description() const override {
    return "time of a put, a get and an atomic to a rank that computes, against one that waits, and against MPI's "
           "windows";
  }

  void add_options(CLI::App& app) override {
    app.add_option("--bytes", bytes_, "of puts and gets; K and M are powers of 1024")
        ->delimiter(',')
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--compute-ms", compute_ms_, "how long the target computes")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--target", target_, "the rank that computes; the last one when not given")
        ->check(CLI::NonNegativeNumber);
    app.add_flag("--openshmem", openshmem_, openshmem_help);
  }

  void run(Session& session) override {
    const int target = target_ < 0 ? session.ranks() - 1 : target_;
    if (target == 0 || target >= session.ranks()) {
      throw std::invalid_argument("passive: --target: expected a rank after 0, of at least two");
    }
    Engine engine = session.make_engine("engine");
    session.describe(engine);
    HelperSwitch helpers(&engine);
    const auto most = std::max<std::uint64_t>(sizeof(std::uint64_t), *std::max_element(bytes_.begin(), bytes_.end()));
    const OneSidedWays ways(session, engine, most, {.openshmem = openshmem_});
    RegisterKernel kernel;
    std::uint64_t units = 0;
    if (session.rank() == target) {
      units = calibrate(MPI_COMM_SELF, kernel, compute_ms_ * 1000);
    }
    std::vector<std::byte> buffer(most);
    session.report().table({"operation", "bytes", "target_does", "executor", "iterations", "median_us", "mad_us",
                            "max_us", "compute_us", "ratio"});
    const std::vector<OneSided*> chosen = ways.reaching(target);
    for (OneSided* way : chosen) {
      helpers.set(way->needs_helpers());
      validate(*way, session, target, most);
      validate_atomics(*way, session, target);
    }
    const Target computing{target, kernel, units};
    for (const std::uint64_t bytes : bytes_) {
      compare(session, helpers, chosen, computing, "put", bytes,
              [&](OneSided& way) { way.put(target, 0, buffer.data(), bytes); });
      compare(session, helpers, chosen, computing, "get", bytes,
              [&](OneSided& way) { way.get(target, 0, buffer.data(), bytes); });
    }
    compare(session, helpers, chosen, computing, "fetch-and-op", sizeof(std::uint64_t),
            [&](OneSided& way) { (void)way.fetch_add(target, 0, 1); });
  }

private:
  struct Target {
    int rank;
    Kernel& kernel;
    std::uint64_t units;
  };

  void compare(Session& session, HelperSwitch& helpers, const std::vector<OneSided*>& ways, const Target& target,
               const std::string& operation, std::uint64_t bytes, const std::function<void(OneSided&)>& call) const {
    // Two for each way: the target waits, the target computes. Rank 0 begins when the computation is under way for
    // certain.
    const Clock::duration head_start = std::chrono::microseconds(200);
    std::vector<std::vector<double>> samples(2 * ways.size()); // of the call alone, on rank 0
    std::vector<Variant> variants;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      OneSided* const way = ways[i / 2];
      const bool computes = i % 2 == 1;
      variants.push_back(in_turn(session.comm(), helpers, way, [&, way, computes, i] {
        if (session.rank() == target.rank && computes) {
          target.kernel.run(target.units);
        }
        if (session.rank() == 0) {
          const auto start = Clock::now() + head_start;
          while (Clock::now() < start) {
          }
          const auto begin = Clock::now();
          call(*way);
          samples[i].push_back(microseconds(Clock::now() - begin));
        }
      }));
    }
    // And the computation alone, which the table shows beside them.
    variants.push_back(in_turn(session.comm(), helpers, nullptr, [&] {
      if (session.rank() == target.rank) {
        target.kernel.run(target.units);
      }
    }));
    const auto times = measure(session.comm(), variants, 1, session.budget());
    if (session.rank() != 0) {
      return;
    }
    std::vector<Summary> calls;
    for (auto& own : samples) {
      own.erase(own.begin(), own.end() - times.back().iterations); // what measure() ran to warm up
      calls.push_back(summarize(own));
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      Row row;
      row.benchmark = name();
      row.executor = ways[i / 2]->name();
      row.bytes = bytes;
      row.time = calls[i];
      row.baseline_us = calls[i / 2 * 2].median;
      row.baseline = "the same call while the target waits";
      row.ratio = calls[i].median / calls[i / 2 * 2].median;
      row.compute_us = times.back().median;
      row.more["operation"] = operation;
      row.more["target_does"] = i % 2 == 1 ? "compute" : "wait";
      session.report().add(row);
    }
  }

  std::vector<std::uint64_t> bytes_ = {8, 64U << 10U};
  double compute_ms_ = 20;
  int target_ = -1;
  bool openshmem_ = false;
};

} // namespace

std::unique_ptr<Benchmark> make_passive() { return std::make_unique<Passive>(); }

} // namespace stoker::bench
