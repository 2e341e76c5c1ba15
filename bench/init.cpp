// SPDX-License-Identifier: BSD-3-Clause
// init: what it takes to initialise a persistent allreduce, reduce or bcast: what each rank works out by itself, for numbers of
// ranks that need not exist; and for the ranks of this run the whole of it, beside the MPI library's.
#include "algos/choice.hpp"
#include "algos/selection.hpp"
#include "bench/benchmark.hpp"
#include "bench/points.hpp"

#include <stdexcept>
#include <utility>

namespace stoker::bench {

namespace {

algos::Collective schedule_of(Collective collective) {
  switch (collective) {
  case Collective::allreduce:
    return algos::Collective::allreduce;
  case Collective::reduce:
    return algos::Collective::reduce;
  case Collective::bcast:
    return algos::Collective::bcast;
  default:
    throw std::invalid_argument("--collective: " + name_of(collective) + " has no vector");
  }
}

// Works out one rank's program after the other: of one algorithm, or also which of several to take.
class Compiler {
public:
  Compiler(std::vector<algos::Choice> candidates, const topology::Layout& layout, Collective collective,
           std::uint64_t bytes)
      : candidates_(std::move(candidates)), layout_(layout), bytes_(bytes),
        element_bytes_(collective == Collective::bcast ? 1 : sizeof(double)) {}

  void run() {
    const algos::VectorCall call{
        .layout = layout_, .rank = rank_, .root = root_rank, .element_bytes = element_bytes_, .sizes = {bytes_}};
    if (candidates_.size() > 1) {
      for (const algos::Choice& candidate : candidates_) {
        (void)algos::load_of(algos::compile(candidate, call), layout_, algos::typical_cluster);
      }
    }
    (void)algos::compile(candidates_.front(), call); // of the one taken, whichever it is
    rank_ = (rank_ + 1) % layout_.ranks();
  }

private:
  std::vector<algos::Choice> candidates_;
  const topology::Layout& layout_;
  std::uint64_t bytes_;
  std::uint64_t element_bytes_;
  int rank_ = 0;
};

class Init final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "init"; }
  [[nodiscard]] std::string description() const override {
    return "initialising a persistent reduction: the compiler for many ranks, all of it for those of this run";
  }

  void add_options(CLI::App& app) override {
    points_.collectives = {"allreduce"};
    points_.bytes = {64, 1U << 20U};
    points_.inits = 20;
    app.add_option("--collective", points_.collectives, "of which")
        ->delimiter(',')
        ->check(CLI::IsMember({"allreduce", "reduce", "bcast"}))
        ->capture_default_str();
    points_.add_bytes_to(app, "sizes of the vector");
    app.add_option("--ranks", ranks_, "for which to compile")
        ->delimiter(',')
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    app.add_option("--ranks-per-node", ranks_per_node_, "of these; 0: all are on one")->check(CLI::NonNegativeNumber);
    app.add_flag("--here", here_, "only the init of the ranks of this run: compile nothing");
    app.add_option(
        "--algorithms", algorithms_,
        "to compile, with their parameters; auto: with stoker's choice; auto and all that it chooses from when "
        "not given");
    points_.add_ways_to(app);
  }

  void run(Session& session) override {
    session.report().note(
        "compile: what each rank works out by itself, mean over the ranks; the others: the whole init");
    for_each_point(session, points_,
                   {"collective", "bytes", "ranks", "executor", "algorithm", "iterations", "median_us", "mad_us",
                    "min_us", "max_us", "ratio"},
                   [&](Point& point) {
                     point.helpers().set(false);
                     if (!here_ && session.rank() == 0) { // alone: nobody else takes its memory's bandwidth
                       compile_for_all(session, point);
                     }
                     MPI_Barrier(session.comm());
                     init_here(session, point);
                   });
  }

private:
  void compile_for_all(Session& session, Point& point) const {
    const algos::Collective collective = schedule_of(point.exchange().collective());
    for (const int ranks : ranks_) {
      const auto layout = topology::Layout::uniform(ranks, ranks_per_node_ > 0 ? ranks_per_node_ : ranks);
      const std::vector<algos::Choice> candidates = algos::vector_candidates(collective, layout, true);
      std::vector<std::string> names = algorithms_;
      if (names.empty()) {
        names.emplace_back("auto");
        for (const algos::Choice& candidate : candidates) {
          names.push_back(algos::to_text(candidate));
        }
      }
      for (const std::string& name : names) {
        compile_one(session, point, layout, name,
                    name == "auto" ? candidates
                                   : std::vector{algos::resolve(algos::parse_choice(collective, name), layout)});
      }
    }
  }

  void compile_one(Session& session, Point& point, const topology::Layout& layout, const std::string& algorithm,
                   const std::vector<algos::Choice>& candidates) const {
    Compiler compiler(candidates, layout, point.exchange().collective(), *point.exchange().bytes());
    const double one_us = estimate_us(MPI_COMM_SELF, [&] { compiler.run(); });
    const int ranks = layout.ranks();
    const int batch = (batch_for(one_us, session.budget()) + ranks - 1) / ranks * ranks; // every rank equally often
    const std::vector<Variant> variants = {point.variant(nullptr, [&] { compiler.run(); })};
    Row row = row_of(point, ranks);
    row.executor = "compile";
    row.algorithm = algorithm;
    row.time = measure(MPI_COMM_SELF, variants, batch, session.budget()).front();
    row.more["ranks_per_node"] = ranks_per_node_ > 0 ? ranks_per_node_ : ranks;
    session.report().add(row);
  }

  void init_here(Session& session, Point& point) const {
    std::vector<Operation*> operations;
    if (Operation* persistent = point.add([&] { return mpi_persistent(point.exchange()); })) {
      operations.push_back(persistent);
    }
    const Operation* const baseline = operations.empty() ? nullptr : operations.front();
    for (Operation* operation : point.add_stoker("auto")) {
      operations.push_back(operation);
    }
    for (const Operation* operation : operations) {
      Row row = row_of(point, session.ranks());
      row.executor = operation->name();
      row.algorithm = operation->algorithm();
      row.time = point.init_times(operation).value();
      if (baseline != nullptr) {
        row.baseline = baseline->name();
        row.baseline_us = point.init_us(baseline);
        row.ratio = row.time.median / *row.baseline_us;
      }
      session.report().add(row);
    }
  }

  [[nodiscard]] Row row_of(Point& point, int ranks) const {
    Row row;
    row.benchmark = name();
    row.collective = name_of(point.exchange().collective());
    row.bytes = point.exchange().bytes();
    row.more["ranks"] = ranks;
    return row;
  }

  PointOptions points_;
  std::vector<int> ranks_ = {2, 4, 8, 16, 24, 32, 48, 64};
  int ranks_per_node_ = 0;
  bool here_ = false;
  std::vector<std::string> algorithms_;
};

} // namespace

std::unique_ptr<Benchmark> make_init() { return std::make_unique<Init>(); }

} // namespace stoker::bench
