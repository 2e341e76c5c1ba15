// SPDX-License-Identifier: BSD-3-Clause
// putget: one-sided transfers between rank 0 and another: blocking puts and gets over sizes, over targets, and
// nonblocking ones with a computation in between. Everybody else waits in a barrier of MPI, where the MPI library makes
// all the progress that it can. After "Leveraging MPI-3 Shared-Memory Extensions for Efficient PGAS Runtime Systems"
// (Zhou, Idrees, Gracia, 2015), figures 2 to 4.
#include "bench/lib/benchmark.hpp"
#include "bench/lib/kernels.hpp"
#include "bench/lib/one_sided.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

namespace stoker::bench {

namespace {

enum class Direction { put, get };
constexpr Direction directions[] = {Direction::put, Direction::get};
const char* name_of(Direction direction) { return direction == Direction::put ? "put" : "get"; }

class PutGet final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "putget"; }
  [[nodiscard]] std::string description() const override {
    return "blocking and nonblocking put and get of global memory, against MPI's windows and plain copies";
  }

  void add_options(CLI::App& app) override {
    for (std::uint64_t bytes = 1; bytes <= 2U << 20U; bytes *= 2) {
      bytes_.push_back(bytes);
    }
    bytes_option_ = app.add_option("--bytes", bytes_, "sizes; K and M are powers of 1024")
                        ->delimiter(',')
                        ->transform(CLI::AsSizeValue(false));
    app.add_option("--target", target_, "the other rank; the last one when not given")->check(CLI::NonNegativeNumber);
    auto* distance =
        app.add_flag("--distance", distance_, "to each of the other ranks, 8 B and 1 MiB if no --bytes are given");
    app.add_flag("--overlap", overlap_,
                 "nonblocking transfers with computation as long as MPI's blocking one (64 KiB to 4 MiB if no --bytes "
                 "are given)")
        ->excludes(distance);
    app.add_flag("--openshmem", openshmem_, openshmem_help);
  }

  void run(Session& session) override {
    if (session.ranks() < 2) {
      throw std::invalid_argument("putget: needs a rank to put to: run it with at least two");
    }
    if (target_ == 0 || target_ >= session.ranks()) {
      throw std::invalid_argument(fmt::format("--target: expected a rank from 1 to {}", session.ranks() - 1));
    }
    if (bytes_option_->count() == 0 && distance_) {
      bytes_ = {8, 1U << 20U};
    } else if (bytes_option_->count() == 0 && overlap_) {
      bytes_ = {64U << 10U, 256U << 10U, 1U << 20U, 4U << 20U};
    }
    const auto most = std::max<std::uint64_t>(1, *std::max_element(bytes_.begin(), bytes_.end()));
    Engine engine = session.make_engine("engine");
    session.describe(engine);
    HelperSwitch helpers(&engine);
    const OneSidedWays ways(session, engine, most, {.load_store = !overlap_, .openshmem = openshmem_});
    buffer_.assign(most, std::byte{1});

    if (overlap_) {
      session.report().table({"operation", "bytes", "executor", "iterations", "compute_us", "pure_us", "overall_us",
                              "mad_us", "efficiency", "ratio"});
    } else {
      session.report().table({"operation", "target", "bytes", "executor", "iterations", "median_us", "mad_us", "min_us",
                              "max_us", "ratio"});
    }
    const int last = session.ranks() - 1;
    const int only = target_ < 0 ? last : target_;
    for (int target = distance_ ? 1 : only; target <= (distance_ ? last : only); ++target) {
      for (const std::uint64_t bytes : bytes_) {
        const std::vector<OneSided*> chosen = ways.reaching(target);
        for (OneSided* way : chosen) {
          helpers.set(way->needs_helpers());
          validate(*way, session, target, bytes);
        }
        for (const Direction direction : directions) {
          overlap_ ? run_overlap(session, helpers, chosen, target, bytes, direction)
                   : run_latency(session, helpers, chosen, target, bytes, direction);
        }
      }
    }
  }

private:
  void blocking(OneSided& way, int target, std::uint64_t bytes, Direction direction) {
    direction == Direction::put ? way.put(target, 0, buffer_.data(), bytes) : way.get(target, 0, buffer_.data(), bytes);
  }

  // `body` on rank 0; the others go on to the next barrier.
  static Variant on_origin(const Session& session, HelperSwitch& helpers, const OneSided* way,
                           std::function<void()> body) {
    return in_turn(
        session.comm(), helpers, way, session.rank() == 0 ? std::move(body) : [] {});
  }

  [[nodiscard]] Row row_of(int target, std::uint64_t bytes, Direction direction) const {
    Row row;
    row.benchmark = name();
    row.more["measure"] = distance_ ? "distance" : overlap_ ? "overlap" : "latency";
    row.bytes = bytes;
    row.more["operation"] = name_of(direction);
    row.more["target"] = target;
    return row;
  }

  void run_latency(Session& session, HelperSwitch& helpers, const std::vector<OneSided*>& ways, int target,
                   std::uint64_t bytes, Direction direction) {
    std::vector<Variant> variants;
    for (OneSided* way : ways) {
      variants.push_back(on_origin(session, helpers, way, [=, this] { blocking(*way, target, bytes, direction); }));
    }
    // Long enough for the fastest: a batch of few of its transfers would measure the clock.
    const int batch = batch_for(fastest(session, variants), session.budget());
    const auto times = measure(session.comm(), variants, batch, session.budget());
    for (std::size_t i = 0; i < ways.size(); ++i) {
      Row row = row_of(target, bytes, direction);
      row.executor = ways[i]->name();
      row.time = times[i];
      if (ways.front()->is_mpi()) {
        row.baseline_us = times.front().median;
        row.baseline = ways.front()->name();
        row.ratio = times[i].median / times.front().median;
      }
      row.more["batch"] = batch;
      session.report().add(row);
    }
  }

  static double fastest(const Session& session, const std::vector<Variant>& variants) {
    double best = 0;
    for (const Variant& variant : variants) {
      variant.enter();
      const double time = estimate_us(session.comm(), variant.body);
      best = best > 0 ? std::min(best, time) : time;
    }
    return best;
  }

  void run_overlap(Session& session, HelperSwitch& helpers, const std::vector<OneSided*>& ways, int target,
                   std::uint64_t bytes, Direction direction) {
    // The pure time is that of MPI's blocking transfer where there is one.
    OneSided* const reference = ways.front();
    const Variant pure =
        on_origin(session, helpers, reference, [&, reference] { blocking(*reference, target, bytes, direction); });
    pure.enter();
    const double transfer_us = estimate_us(session.comm(), pure.body);
    RegisterKernel kernel;
    std::uint64_t units = 0;
    if (session.rank() == 0) { // the only one that computes
      units = calibrate(MPI_COMM_SELF, kernel, transfer_us);
    }
    MPI_Bcast(&units, 1, MPI_UINT64_T, 0, session.comm());

    std::vector<Variant> variants = {on_origin(session, helpers, nullptr, [&] { kernel.run(units); }), pure};
    for (OneSided* way : ways) {
      variants.push_back(on_origin(session, helpers, way, [&, way] {
        direction == Direction::put ? way->start_put(target, 0, buffer_.data(), bytes)
                                    : way->start_get(target, 0, buffer_.data(), bytes);
        kernel.run(units);
        way->complete(target);
      }));
    }
    const int batch = batch_for(2 * transfer_us, session.budget());
    const auto times = measure(session.comm(), variants, batch, session.budget());
    const double compute_us = times[0].median;
    const double pure_us = times[1].median;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      Row row = row_of(target, bytes, direction);
      row.executor = ways[i]->name();
      row.time = times[i + 2];
      row.overall_us = row.time.median;
      row.compute_us = compute_us;
      row.efficiency = std::max(compute_us, pure_us) / row.time.median;
      if (reference->is_mpi()) {
        row.baseline_us = times[2].median;
        row.baseline = "step of " + reference->name();
        row.ratio = row.time.median / times[2].median;
      }
      row.more["pure"] = reference->name();
      row.more["pure_us"] = pure_us;
      row.more["batch"] = batch;
      session.report().add(row);
    }
  }

  std::vector<std::uint64_t> bytes_;
  CLI::Option* bytes_option_ = nullptr;
  int target_ = -1;
  bool distance_ = false;
  bool overlap_ = false;
  bool openshmem_ = false;
  std::vector<std::byte> buffer_; // rank 0's
};

} // namespace

std::unique_ptr<Benchmark> make_putget() { return std::make_unique<PutGet>(); }

} // namespace stoker::bench
