// SPDX-License-Identifier: BSD-3-Clause
// init: the time to initialise a persistent allreduce, reduce or bcast. One part is what each rank works out by itself,
// compiled or taken from wisdom, for numbers of ranks that need not exist. The other is the whole init by the ranks of
// this run, beside the MPI library's.
#include "algos/select/choice.hpp"
#include "algos/select/selection.hpp"
#include "algos/simulate/expectation.hpp"
#include "bench/lib/benchmark.hpp"
#include "bench/lib/points.hpp"
#include "engine/wisdom/recall.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

#include <unistd.h>

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

// A folder for wisdom, with nothing in it; removed at the end.
class WisdomFolder {
public:
  WisdomFolder()
      : path_(std::filesystem::temp_directory_path() / ("stoker-bench-wisdom." + std::to_string(getpid()))) {}
  WisdomFolder(const WisdomFolder&) = delete;
  WisdomFolder& operator=(const WisdomFolder&) = delete;
  ~WisdomFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  std::string path_;
};

// Works out one rank's program after the other: of one algorithm, or also which of several to take.
class Compiler {
public:
  Compiler(std::vector<algos::Choice> candidates, const topology::Layout& layout, Collective collective,
           std::uint64_t bytes)
      : candidates_(std::move(candidates)), layout_(layout), collective_(collective), bytes_(bytes) {}

  void run() {
    const algos::DistributedVector call = next();
    if (candidates_.size() > 1) {
      (void)choose(call.rank);
    }
    (void)algos::compile(candidates_.front(), call);
  }

  // The same with what is in `wisdom`, to which it adds what is missing.
  void recall(engine::Wisdom& wisdom) {
    const algos::DistributedVector call = next();
    if (candidates_.size() > 1 && call.rank == 0) { // who tells the others
      const auto key = [&] {
        return engine::choice_key(typical(), algos::Driver::rank, algos::typical_cluster(), candidates_);
      };
      (void)engine::choose_or_recall(wisdom, MPI_COMM_SELF, key, candidates_, [&] { return choose(call.rank); });
    }
    const algos::Choice& choice = candidates_.front();
    (void)engine::compile_or_recall(
        wisdom, [&] { return engine::program_key(choice, call); }, {bytes_, bytes_},
        [&] { return algos::compile(choice, call); });
  }

private:
  algos::DistributedVector next() {
    const int rank = std::exchange(rank_, (rank_ + 1) % layout_.ranks());
    return {.layout = layout_, .rank = rank, .root = root_rank, .element_bytes = element_bytes(), .sizes = {bytes_}};
  }

  [[nodiscard]] algos::TypicalCall typical() const {
    return {.collective = schedule_of(collective_),
            .layout = layout_,
            .bytes = bytes_,
            .element_bytes = element_bytes(),
            .root = root_rank};
  }
  [[nodiscard]] std::uint64_t element_bytes() const { return collective_ == Collective::bcast ? 1 : sizeof(double); }

  // Does a rank's part of the choice; the result does not matter here.
  algos::Choice choose(int rank) const {
    for (auto i = static_cast<std::size_t>(rank); i < candidates_.size();
         i += static_cast<std::size_t>(layout_.ranks())) {
      (void)algos::expectation(candidates_[i], typical(), algos::typical_cluster(), algos::Driver::rank);
    }
    return candidates_.front();
  }

  std::vector<algos::Choice> candidates_;
  const topology::Layout& layout_;
  Collective collective_;
  std::uint64_t bytes_;
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
    for (const std::string& collective : points_.collectives) { // what is wrong is said before there is an engine
      (void)cases_of(schedule_of(collective_of(collective)), 0);
    }
    session.report().note("compile: what each rank works out by itself, mean over the ranks; wisdom: the same from "
                          "files; the others: the whole init");
    for_each_point(session, points_,
                   {"collective", "bytes", "ranks", "executor", "algorithm", "iterations", "median_us", "mad_us",
                    "min_us", "max_us", "ratio"},
                   [&](Point& point) {
                     point.helpers().set(false);
                     if (!here_ && session.rank() == 0) { // alone: nobody else takes its memory's bandwidth
                       for (const Compilation& what :
                            cases_of(schedule_of(point.exchange().collective()), *point.exchange().bytes())) {
                         compile(session, point, what);
                       }
                     }
                     MPI_Barrier(session.comm());
                     init_here(session, point);
                   });
  }

private:
  // What to compile for: a number of ranks and an algorithm.
  struct Compilation {
    int ranks = 0;
    std::string algorithm;
    std::vector<algos::Choice> candidates;
  };

  [[nodiscard]] topology::Layout layout_of(int ranks) const {
    return topology::Layout::uniform(ranks, ranks_per_node_ > 0 ? ranks_per_node_ : ranks);
  }

  // Throws std::invalid_argument for algorithms that there are not.
  [[nodiscard]] std::vector<Compilation> cases_of(algos::Collective collective, std::uint64_t bytes) const {
    std::vector<Compilation> cases;
    for (const int ranks : ranks_) {
      const topology::Layout layout = layout_of(ranks);
      const std::vector<algos::Choice> all = algos::candidates(collective, layout, bytes);
      if (algorithms_.empty()) {
        cases.push_back({ranks, "auto", all});
        for (const algos::Choice& choice : all) {
          cases.push_back({ranks, algos::to_text(choice), {choice}});
        }
      }
      for (const std::string& name : algorithms_) {
        cases.push_back(
            {ranks, name,
             name == "auto" ? all : std::vector{algos::resolve(algos::parse_choice(collective, name), layout)}});
      }
    }
    return cases;
  }

  void compile(Session& session, Point& point, const Compilation& what) const {
    const topology::Layout layout = layout_of(what.ranks);
    Compiler compiler(what.candidates, layout, point.exchange().collective(), *point.exchange().bytes());
    const double one_us = estimate_us(MPI_COMM_SELF, [&] { compiler.run(); });
    const int rounds = (batch_for(one_us, session.budget()) + what.ranks - 1) / what.ranks; // each rank equally often
    const WisdomFolder folder;
    engine::Wisdom wisdom(folder.path(), spdlog::default_logger());
    const std::vector<Variant> variants = {point.variant(nullptr, [&] { compiler.run(); }),
                                           point.variant(nullptr, [&] { compiler.recall(wisdom); })};
    const std::vector<Summary> times = measure(MPI_COMM_SELF, variants, rounds * what.ranks, session.budget());
    for (std::size_t i = 0; i < times.size(); ++i) {
      Row row = row_of(point, what.ranks);
      row.executor = i == 0 ? "compile" : "wisdom";
      row.algorithm = what.algorithm;
      row.time = times[i];
      row.baseline = "compile";
      row.baseline_us = times[0].median;
      row.ratio = times[i].median / times[0].median;
      row.more["ranks_per_node"] = ranks_per_node_ > 0 ? ranks_per_node_ : what.ranks;
      session.report().add(row);
    }
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
