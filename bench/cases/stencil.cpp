// SPDX-License-Identifier: BSD-3-Clause
// stencil: a five-point stencil on a square grid of 4-byte numbers, dealt to ranks by rows, relaxed until it changes no
// more; halos are put into the neighbors' memory, as in "Leveraging MPI-3 Shared-Memory Extensions for Efficient PGAS
// Runtime Systems" (Zhou, Idrees, Gracia, 2015). The order is red-black Gauss-Seidel, so that the number of ranks
// and the way of the halos change no bit of the result; all results are compared with one rank's.
//
// One exchange before each half sweep: put own first and last row into the neighbors' halos, tell each by a flag, wait
// for both flags of one's own. Halos and flags are double: a rank that puts for half sweep s has seen the flags of s -
// 1, which its neighbors raised after they had used the halos of s - 2. The overlapped form starts the puts, relaxes
// the rows that need no halo, completes, raises and awaits flags, and relaxes the first and the last row.
//
// The MPI forms do the same with Put or Rput, flush of the target, and an atomic store of the flag: fences, and
// post-start-complete-wait, which a program for one neighbor at a time might prefer, may hang on MPICH between hosts
// with several ranks on one.
#include "bench/lib/benchmark.hpp"
#include "bench/lib/one_sided.hpp"
#include "bench/lib/red_black.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace stoker::bench {

namespace {

struct Limits {
  float tolerance;
  int iterations;
  int check_every;
};

struct Solution {
  int iterations = 0;
  std::vector<float> changes; // largest one of an iteration, every time that it was asked for
};

// The top edge is held at 1, the other edges at 0.
void set_boundary_above(float* row, std::size_t side) { std::fill_n(row, row_length(side), 1.0F); }

// All of it on one rank.
Solution solve_alone(std::vector<float>& grid, std::size_t side, const Limits& limits) {
  const std::size_t length = row_length(side);
  grid.assign((side + 2) * length, 0);
  set_boundary_above(grid.data(), side);
  Solution solution;
  while (solution.iterations < limits.iterations) {
    float change = 0;
    for (const unsigned colour : {0U, 1U}) {
      for (std::size_t row = 0; row < side; ++row) {
        float* own = grid.data() + ((row + 1) * length);
        change = std::max(change, relax_row(own - length, own, own + length, side, row, colour));
      }
    }
    if (++solution.iterations % limits.check_every == 0) {
      solution.changes.push_back(change);
      if (change < limits.tolerance) {
        break;
      }
    }
  }
  return solution;
}

// One rank's rows in a piece of global memory: two flags from above, two from below, two halo rows above, two below,
// and the rows.
class Strip {
public:
  Strip(OneSided& way, MPI_Comm comm, std::size_t side) : way_(way), comm_(comm), side_(side) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    first_row_ = first_row_of(rank_);
    rows_ = first_row_of(rank_ + 1) - first_row_;
  }

  static std::size_t bytes_needed(std::size_t side, int ranks) {
    const std::size_t most = (side + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
    return flags_bytes + ((4 + most) * row_bytes(side));
  }

  // Local; to be followed by a barrier.
  void reset() {
    std::memset(way_.memory() + flags_bytes, 0, (4 + rows_) * row_bytes(side_));
    if (rank_ == 0) {
      for (const std::size_t parity : {0U, 1U}) {
        set_boundary_above(at(halo(from_above, parity)), side_);
      }
    }
    way_.synchronise();
  }

  Solution solve(const Limits& limits, bool overlapped) {
    Solution solution;
    while (solution.iterations < limits.iterations) {
      float change = 0;
      for (const unsigned colour : {0U, 1U}) {
        change = std::max(change, overlapped ? half_sweep_overlapped(colour) : half_sweep(colour));
      }
      if (++solution.iterations % limits.check_every == 0) {
        MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_FLOAT, MPI_MAX, comm_);
        solution.changes.push_back(change);
        if (change < limits.tolerance) {
          break;
        }
      }
    }
    return solution;
  }

  // Whether this rank's rows are those of the whole grid, bit by bit.
  [[nodiscard]] bool equals(const std::vector<float>& whole) {
    const std::size_t length = row_length(side_);
    return std::memcmp(at(row(0)), whole.data() + ((first_row_ + 1) * length), rows_ * row_bytes(side_)) == 0;
  }

private:
  enum Side : std::size_t { from_above, from_below };
  static constexpr std::size_t line = 64; // one flag each
  static constexpr std::size_t flags_bytes = 4 * line;

  static std::size_t row_bytes(std::size_t side) { return row_length(side) * sizeof(float); }
  [[nodiscard]] std::size_t first_row_of(int rank) const {
    return side_ * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks_);
  }
  // Offsets, the same on all ranks.
  static std::size_t flag(Side side, std::size_t parity) { return ((2 * side) + parity) * line; }
  [[nodiscard]] std::size_t halo(Side side, std::size_t parity) const {
    return flags_bytes + (((2 * side) + parity) * row_bytes(side_));
  }
  [[nodiscard]] std::size_t row(std::size_t i) const { return flags_bytes + ((4 + i) * row_bytes(side_)); }
  [[nodiscard]] float* at(std::size_t offset) { return reinterpret_cast<float*>(way_.memory() + offset); }

  [[nodiscard]] bool has_above() const { return rank_ > 0; }
  [[nodiscard]] bool has_below() const { return rank_ + 1 < ranks_; }
  [[nodiscard]] std::size_t parity() const { return step_ & 1U; }

  float relax(std::size_t i, unsigned colour) {
    const float* above = i == 0 ? at(halo(from_above, parity())) : at(row(i - 1));
    const float* below = i + 1 == rows_ ? at(halo(from_below, parity())) : at(row(i + 1));
    return relax_row(above, at(row(i)), below, side_, first_row_ + i, colour);
  }

  void exchange_flags() {
    if (has_above()) {
      way_.set_flag(rank_ - 1, flag(from_below, parity()), step_);
    }
    if (has_below()) {
      way_.set_flag(rank_ + 1, flag(from_above, parity()), step_);
    }
    await_flags();
  }

  void await_flags() {
    if (has_above()) {
      way_.await_flag(flag(from_above, parity()), step_);
    }
    if (has_below()) {
      way_.await_flag(flag(from_below, parity()), step_);
    }
  }

  float half_sweep(unsigned colour) {
    ++step_;
    if (has_above()) {
      way_.put(rank_ - 1, halo(from_below, parity()), at(row(0)), row_bytes(side_));
    }
    if (has_below()) {
      way_.put(rank_ + 1, halo(from_above, parity()), at(row(rows_ - 1)), row_bytes(side_));
    }
    exchange_flags();
    float change = 0;
    for (std::size_t i = 0; i < rows_; ++i) {
      change = std::max(change, relax(i, colour));
    }
    return change;
  }

  float half_sweep_overlapped(unsigned colour) {
    ++step_;
    if (has_above()) {
      way_.start_put_and_flag(rank_ - 1, halo(from_below, parity()), at(row(0)), row_bytes(side_),
                              flag(from_below, parity()), step_);
    }
    if (has_below()) {
      way_.start_put_and_flag(rank_ + 1, halo(from_above, parity()), at(row(rows_ - 1)), row_bytes(side_),
                              flag(from_above, parity()), step_);
    }
    float change = 0;
    for (std::size_t i = 1; i + 1 < rows_; ++i) {
      change = std::max(change, relax(i, colour));
    }
    if (has_above()) {
      way_.complete_and_flag(rank_ - 1);
    }
    if (has_below()) {
      way_.complete_and_flag(rank_ + 1);
    }
    await_flags();
    change = std::max(change, relax(0, colour));
    return rows_ > 1 ? std::max(change, relax(rows_ - 1, colour)) : change;
  }

  OneSided& way_;
  MPI_Comm comm_;
  std::size_t side_;
  int rank_ = 0;
  int ranks_ = 1;
  std::size_t first_row_ = 0;
  std::size_t rows_ = 0;
  std::uint64_t step_ = 0; // half sweeps, over all solutions: no flag has an old one's value
};

class Stencil final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "stencil"; }
  [[nodiscard]] std::string description() const override {
    return "five-point stencil with halos put into the neighbors' memory, blocking and overlapped, against MPI's "
           "windows";
  }

  void add_options(CLI::App& app) override {
    app.add_option("--side", sides_, "points of the grid in each direction")
        ->delimiter(',')
        ->check(CLI::Range(2, 1 << 15))
        ->capture_default_str();
    app.add_option("--tolerance", tolerance_, "converged when no point changes by as much in an iteration")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--iterations", iterations_, "at most, for sizes that take too long to converge")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--check-every", check_every_,
                   "iterations between the checks for convergence, an MPI_Allreduce each")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_flag("--openshmem", openshmem_, openshmem_help);
  }

  void run(Session& session) override {
    Engine engine = session.make_engine("engine");
    session.describe(engine);
    HelperSwitch helpers(&engine);
    session.report().table({"side", "form", "executor", "iterations", "solver_iterations", "median_us", "mad_us",
                            "us_per_iteration", "ratio", "last_change", "converged"});
    for (const int side : sides_) {
      if (side < session.ranks()) {
        throw std::invalid_argument(fmt::format("--side: {} rows are fewer than ranks", side));
      }
      const OneSidedWays ways(session, engine, Strip::bytes_needed(static_cast<std::size_t>(side), session.ranks()),
                              {.openshmem = openshmem_});
      compare(session, helpers, ways, static_cast<std::size_t>(side));
    }
  }

private:
  void compare(Session& session, HelperSwitch& helpers, const OneSidedWays& ways, std::size_t side) const {
    const Limits limits{static_cast<float>(tolerance_), iterations_, check_every_};
    std::vector<float> whole; // on every rank, so that each compares its own
    const Solution expected = solve_alone(whole, side, limits);
    const std::array<bool, 2> forms = {false, true};
    std::vector<Strip> strips;
    for (const auto& way : ways.all()) {
      strips.emplace_back(*way, session.comm(), side);
    }
    std::vector<Variant> variants;
    int wrong = 0; // runs on this rank
    for (std::size_t i = 0; i < strips.size(); ++i) {
      for (const bool overlapped : forms) {
        Strip& strip = strips[i];
        variants.push_back(in_turn(
            session.comm(), helpers, ways.all()[i].get(),
            [&, overlapped] { wrong += strip.solve(limits, overlapped).changes != expected.changes ? 1 : 0; },
            [&] { strip.reset(); }, [&] { wrong += strip.equals(whole) ? 0 : 1; }));
      }
    }
    const auto times = measure(session.comm(), variants, 1, session.budget());
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, session.comm());
    if (wrong != 0) {
      throw std::runtime_error(
          fmt::format("stencil: {} results on {} ranks differ from one rank's", wrong, session.ranks()));
    }
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const OneSided& way = *ways.all()[i / forms.size()];
      Row row;
      row.benchmark = name();
      row.executor = way.name();
      row.bytes = row_length(side) * sizeof(float); // to each neighbor, twice an iteration
      row.time = times[i];
      if (ways.all().front()->is_mpi()) { // the same form of it
        row.baseline_us = times[i % forms.size()].median;
        row.baseline = ways.all().front()->name();
        row.ratio = times[i].median / times[i % forms.size()].median;
      }
      row.more["side"] = side;
      row.more["form"] = forms[i % forms.size()] ? "overlapped" : "blocking";
      row.more["solver_iterations"] = expected.iterations;
      row.more["us_per_iteration"] = times[i].median / expected.iterations;
      row.more["converged"] = !expected.changes.empty() && expected.changes.back() < limits.tolerance;
      row.more["last_change"] = expected.changes.empty() ? 0.0 : static_cast<double>(expected.changes.back());
      if (i == 0) { // the same for all
        row.more["changes"] = expected.changes;
      }
      session.report().add(row);
    }
  }

  std::vector<int> sides_ = {64, 1024};
  double tolerance_ = 1e-5;
  int iterations_ = 2000;
  int check_every_ = 20;
  bool openshmem_ = false;
};

} // namespace

std::unique_ptr<Benchmark> make_stencil() { return std::make_unique<Stencil>(); }

} // namespace stoker::bench
