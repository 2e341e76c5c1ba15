// SPDX-License-Identifier: BSD-3-Clause
// idle: the cost of an engine that has nothing to do. First it measures the CPU time of the helpers over some seconds
// in which the ranks sleep, as the engine accounts for it and as the kernel does for the whole process, and how that
// time was divided into busy, idle and sleeping. Then it measures the slow-down of computations: with no engine, an
// idle one and a paused one in turns. The first is the baseline of the other two of its round.
#include "bench/lib/benchmark.hpp"
#include "bench/lib/kernels.hpp"
#include "bench/lib/operation.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace stoker::bench {

namespace {

enum State : std::size_t { none, idle, paused, states };
constexpr std::array<const char*, states> state_names = {"none", "idle", "paused"};

double process_cpu_seconds() {
  rusage usage{};
  (void)getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Idle final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "idle"; }
  [[nodiscard]] std::string description() const override {
    return "CPU time of helpers with nothing active, and what an idle engine slows computations down by";
  }

  void add_options(CLI::App& app) override {
    app.add_option("--seconds", seconds_, "how long to watch the helpers")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--rounds", rounds_, "rounds of no engine, idle engine, paused engine")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    app.add_option("--kernel-ms", kernel_ms_, "length of one computation")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--repetitions", repetitions_, "computations per round, of which the median counts")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    app.add_option("--memory-bytes", memory_bytes_, "what the memory kernel goes through, per rank")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
  }

  void run(Session& session) override {
    watch_helpers(session);
    for (const char* kernel : {"register", "memory"}) {
      compare_computation(session, kernel);
    }
  }

private:
  // An engine that has been used and has had time to fall asleep.
  static Engine used_engine(const Session& session) {
    Engine engine = session.make_engine("engine");
    Exchange exchange(session.comm(), Collective::alltoall, 64, {});
    validate(*stoker_persistent(exchange, engine, "engine", ""), exchange);
    MPI_Barrier(session.comm());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return engine;
  }

  void watch_helpers(Session& session) const {
    const Engine engine = used_engine(session);
    session.describe(engine);
    const auto begin = Clock::now();
    const stoker_helper_statistics before = engine.helper_statistics();
    const double helper_before = engine.facts().helper_cpu_seconds;
    const double process_before = process_cpu_seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    const double process = process_cpu_seconds() - process_before;
    const double helper = engine.facts().helper_cpu_seconds - helper_before;
    const stoker_helper_statistics after = engine.helper_statistics();
    const double elapsed = microseconds(Clock::now() - begin) * 1e-6;
    // Without a helper all are 0.
    const auto percent = [&](double stoker_helper_statistics::*seconds) {
      return 100 * (after.*seconds - before.*seconds) / elapsed;
    };
    // The highest of all ranks, each by itself.
    const auto busiest = slowest_rank(session.comm(), {helper * 1e6, 100 * helper / elapsed, 100 * process / elapsed,
                                                       percent(&stoker_helper_statistics::busy_seconds),
                                                       percent(&stoker_helper_statistics::idle_seconds),
                                                       percent(&stoker_helper_statistics::sleeping_seconds)});

    session.report().table({"executor", "condition", "median_us", "overall_us", "helper_cpu_percent",
                            "process_cpu_percent", "helper_busy_percent", "helper_idle_percent",
                            "helper_sleeping_percent"});
    Row row;
    row.benchmark = name();
    row.executor = "engine";
    row.time = summarize({busiest[0]});
    row.overall_us = elapsed * 1e6;
    row.baseline_us = elapsed * 1e6;
    row.baseline = "one core";
    row.ratio = busiest[1] / 100;
    row.more["measure"] = "helper-cpu";
    row.more["condition"] = state_names[idle];
    row.more["helper_cpu_percent"] = busiest[1];
    row.more["process_cpu_percent"] = busiest[2];
    row.more["helper_busy_percent"] = busiest[3];
    row.more["helper_idle_percent"] = busiest[4];
    row.more["helper_sleeping_percent"] = busiest[5];
    session.report().add(row);
  }

  void compare_computation(Session& session, const std::string& kernel_name) const {
    const auto kernel = make_kernel(kernel_name, memory_bytes_, nullptr);
    const std::uint64_t units = calibrate(session.comm(), *kernel, kernel_ms_ * 1000);
    std::array<std::vector<double>, states> times;
    for (int round = 0; round < rounds_; ++round) {
      for (std::size_t turn = 0; turn < states; ++turn) {
        const std::size_t state = (static_cast<std::size_t>(round) + turn) % states;
        std::optional<Engine> engine;
        if (state != none) {
          engine.emplace(used_engine(session));
        }
        if (state == paused) {
          engine->pause();
        }
        times[state].push_back(time_of(session, *kernel, units));
        if (state == paused) {
          engine->resume();
        }
      }
    }
    report(session, kernel_name, times);
  }

  [[nodiscard]] double time_of(Session& session, Kernel& kernel, std::uint64_t units) const {
    kernel.run(units);
    std::vector<double> samples;
    for (int i = 0; i < repetitions_; ++i) {
      MPI_Barrier(session.comm());
      const auto begin = Clock::now();
      kernel.run(units);
      samples.push_back(microseconds(Clock::now() - begin));
    }
    return summarize(slowest_rank(session.comm(), std::move(samples))).median;
  }

  void report(Session& session, const std::string& kernel_name, std::array<std::vector<double>, states>& times) const {
    session.report().table({"executor", "kernel", "condition", "iterations", "median_us", "mad_us", "baseline_us",
                            "ratio", "ratio_mad", "ratio_min", "ratio_max"});
    const double baseline_us = summarize(times[none]).median;
    for (std::size_t state = 0; state < states; ++state) {
      std::vector<double> ratios;
      for (std::size_t round = 0; round < times[state].size(); ++round) {
        ratios.push_back(times[state][round] / times[none][round]);
      }
      const Summary ratio = summarize(std::move(ratios));
      Row row;
      row.benchmark = name();
      row.executor = state == none ? "none" : "engine";
      row.time = summarize(times[state]);
      row.compute_us = row.time.median;
      row.baseline_us = baseline_us;
      row.baseline = "no engine";
      row.ratio = ratio.median;
      row.more["measure"] = "slow-down";
      row.more["condition"] = state_names[state];
      row.more["kernel"] = kernel_name;
      row.more["ratio_mad"] = ratio.mad;
      row.more["ratio_min"] = ratio.min;
      row.more["ratio_max"] = ratio.max;
      if (kernel_name == "memory") {
        row.more["memory_bytes"] = memory_bytes_;
      }
      session.report().add(row);
    }
  }

  double seconds_ = 5;
  int rounds_ = 15;
  double kernel_ms_ = 5;
  int repetitions_ = 10;
  std::size_t memory_bytes_ = std::size_t{192} << 20U;
};

} // namespace

std::unique_ptr<Benchmark> make_idle() { return std::make_unique<Idle>(); }

} // namespace stoker::bench
