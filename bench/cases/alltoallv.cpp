// SPDX-License-Identifier: BSD-3-Clause
// alltoallv: the persistent requests of stoker against MPI_Alltoallv, against MPI's other ways, and against the
// persistent forms over plain MPI one-sided communication: the two benchmarks of "Analyzing Persistent Alltoallv RMA
// Implementations for High-Performance MPI Communication" (Namugwanya, 2026). The first exchanges uniform blocks, the
// second what sparse matrices ask for.
#include "api/sparse/product_counts.hpp"
#include "bench/lib/benchmark.hpp"
#include "bench/lib/native_rma.hpp"
#include "bench/lib/plain_rma.hpp"
#include "bench/lib/points.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace stoker::bench {

namespace {

constexpr int element_bytes = 8; // of a vector

class Alltoallv final : public Benchmark {
public:
  [[nodiscard]] std::string name() const override { return "alltoallv"; }
  [[nodiscard]] std::string description() const override {
    return "persistent alltoallv against MPI_Alltoallv and against plain one-sided MPI, uniform or from sparse "
           "matrices";
  }

  void add_options(CLI::App& app) override {
    points_.bytes = {8,          64,          512,         2U << 10U,   8U << 10U, 32U << 10U,
                     64U << 10U, 128U << 10U, 256U << 10U, 512U << 10U, 1U << 20U, 2U << 20U};
    bytes_option_ =
        app.add_option("--bytes", points_.bytes,
                       "sizes per process (with --scaling strong: of all processes together), dealt to equal "
                       "blocks of at least one byte; K and M are powers of 1024")
            ->delimiter(',')
            ->transform(CLI::AsSizeValue(false))
            ->capture_default_str();
    app.add_option("--scaling", scaling_,
                   "what stays the same with more processes: the bytes of each, or of all together")
        ->check(CLI::IsMember({"weak", "strong"}))
        ->capture_default_str();
    app.add_option("--algorithms", algorithms_, "with their parameters, as in radix:r=4; separated by spaces")
        ->capture_default_str();
    app.add_option("--matrix", matrices_,
                   "Matrix Market files, whose sparse matrix-vector products are exchanged for; without --bytes "
                   "nothing else is")
        ->check(CLI::ExistingFile);
    app.add_option("--patterns", patterns_file_,
                   "also write who sends how much to whom for each matrix, one JSON object a line, to this file");
    app.add_option("--plain-forms", plain_forms_,
                   "the algorithms over MPI's own one-sided communication; auto: where they are known to work")
        ->check(CLI::IsMember({"auto", "on", "off"}))
        ->capture_default_str();
    points_.add_ways_to(app);
  }

  void run(Session& session) override {
    const std::vector<std::string> figures = {"executor", "algorithm", "iterations", "median_us", "mad_us",
                                              "min_us",   "max_us",    "ratio",      "init_us",   "break_even"};
    const auto columns = [&](std::vector<std::string> first) {
      first.insert(first.end(), figures.begin(), figures.end());
      return first;
    };
    const std::vector<Pattern> patterns = load_matrices(session);
    session.report().constant("scaling", scaling_);
    decide_on_plain_forms(session);
    const bool uniform = matrices_.empty() || bytes_option_->count() > 0;
    if (uniform) {
      session.report().note(
          fmt::format("{} scaling; bytes_per_process: all that a process sends; bytes: per pair", scaling_));
    }
    std::optional<Engine> engine = begin_points(session, points_,
                                                columns(uniform ? std::vector<std::string>{"bytes_per_process", "bytes"}
                                                                : std::vector<std::string>{"matrix", "total_bytes"}));
    Engine* const engine_pointer = engine ? &*engine : nullptr;
    if (uniform) {
      for (const std::uint64_t bytes : points_.bytes) {
        for (const std::string& buffers : points_.buffers) {
          run_uniform(session, engine_pointer, buffers, bytes);
        }
      }
    }
    if (uniform && !matrices_.empty()) {
      session.report().table(columns({"matrix", "total_bytes"}));
    }
    for (const auto& [matrix, counts] : patterns) {
      for (const std::string& buffers : points_.buffers) {
        run_matrix(session, engine_pointer, buffers, matrix, counts);
      }
    }
  }

private:
  void decide_on_plain_forms(Session& session) {
    std::string why_not;
    if (plain_forms_ == "off") {
      why_not = "--plain-forms off";
    }
    if (plain_forms_ == "auto") {
      why_not = why_no_fences(session);
    }
    if (why_not.empty()) {
      why_not = why_no_rma(session.comm());
    }
    with_plain_forms_ = why_not.empty();
    if (!with_plain_forms_) {
      session.report().note("left out: the forms over plain MPI one-sided communication: " + why_not);
    }
  }

  void run_uniform(Session& session, Engine* engine, const std::string& buffers, std::uint64_t bytes) {
    const auto ranks = static_cast<std::uint64_t>(session.ranks());
    const std::uint64_t per_process = scaling_ == "weak" ? bytes : bytes / ranks;
    const std::uint64_t per_pair = std::max<std::uint64_t>(1, per_process / ranks);
    Point point(session, points_, engine, buffers, Collective::alltoallv, per_pair);
    Row common;
    common.more["bytes_per_process"] = per_process;
    common.more["total_bytes"] = per_pair * ranks * ranks;
    run_point(session, point, common);
  }

  struct Pattern {
    std::string matrix;
    std::vector<int> counts; // bytes, [source * ranks + destination]
  };

  // Rank 0 alone reads the matrices, because they are larger than patterns. An exception on it ends the run, so this
  // comes before there is an engine, whose end is collective.
  std::vector<Pattern> load_matrices(const Session& session) const {
    std::ofstream out;
    if (session.rank() == 0 && !patterns_file_.empty()) {
      out.open(patterns_file_);
      if (!out) {
        throw std::runtime_error("--patterns: cannot write " + patterns_file_);
      }
    }
    const auto ranks = static_cast<std::size_t>(session.ranks());
    std::vector<Pattern> patterns;
    for (const std::string& file : matrices_) {
      Pattern pattern{std::filesystem::path(file).stem(), std::vector<int>(ranks * ranks)};
      if (session.rank() == 0) {
        const matrix_market::Coordinates coordinates = matrix_market::read(file);
        const matrix_market::CountMatrix elements = product_counts(coordinates, session.ranks());
        for (std::size_t i = 0; i < pattern.counts.size(); ++i) {
          pattern.counts[i] = element_bytes * elements[i / ranks][i % ranks];
        }
        if (out.is_open()) {
          out << as_json(pattern.matrix, coordinates, elements).dump() << std::endl;
        }
      }
      MPI_Bcast(pattern.counts.data(), static_cast<int>(pattern.counts.size()), MPI_INT, 0, session.comm());
      patterns.push_back(std::move(pattern));
    }
    return patterns;
  }

  static nlohmann::ordered_json as_json(const std::string& matrix, const matrix_market::Coordinates& coordinates,
                                        const matrix_market::CountMatrix& elements) {
    return {{"benchmark", "pattern"},
            {"matrix", matrix},
            {"rows", coordinates.rows},
            {"columns", coordinates.columns},
            {"entries", coordinates.entries.size()},
            {"element_bytes", element_bytes},
            {"send_counts", elements}};
  }

  void run_matrix(Session& session, Engine* engine, const std::string& buffers, const std::string& matrix,
                  const std::vector<int>& counts) const {
    const auto own = counts.begin() + static_cast<std::ptrdiff_t>(session.rank()) * session.ranks();
    Point point(session, points_, engine, buffers, std::vector<int>(own, own + session.ranks()));
    Row common;
    common.more["matrix"] = matrix;
    common.more["total_bytes"] = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    run_point(session, point, common);
  }

  void run_point(Session& session, Point& point, Row common) const {
    const Exchange& exchange = point.exchange();
    std::vector<Operation*> operations = {point.add([&] { return mpi_blocking(exchange); }),
                                          point.add([&] { return mpi_nonblocking(exchange); })};
    if (Operation* persistent = point.add([&] { return mpi_persistent(exchange); })) {
      operations.push_back(persistent);
    }
    if (with_plain_forms_) {
      for (const PlainRma form : plain_rma_forms) {
        operations.push_back(point.add([&] { return plain_rma(exchange, form); }));
      }
    }
    for (const std::string& algorithm : algorithms_) {
      for (Operation* operation : point.add_stoker(algorithm)) {
        operations.push_back(operation);
      }
    }
    common.benchmark = name();
    compare_runs(session, point, operations, common);
  }

  PointOptions points_;
  CLI::Option* bytes_option_ = nullptr;
  std::string scaling_ = "weak";
  std::vector<std::string> algorithms_ = {"nonblocking", "rma-fence", "rma-lock", "rma-fence-hierarchy"};
  std::vector<std::string> matrices_;
  std::string patterns_file_;
  std::string plain_forms_ = "auto";
  bool with_plain_forms_ = false;
};

} // namespace

std::unique_ptr<Benchmark> make_alltoallv() { return std::make_unique<Alltoallv>(); }

} // namespace stoker::bench
